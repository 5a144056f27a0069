//! Opens connections to the file, and rolls back their transactions.

use std::time::Duration;

use postrider_sql::driver::pool::Connect;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _, Sqlite, Transaction};

use crate::error;

/// Opens connections to the file for the pool.
#[derive(Clone)]
pub struct Connector(pub SqliteConnectOptions);

impl Connect for Connector {
    type Connection = SqliteConnection;
    type Error = sqlx::Error;

    async fn connect(&self) -> Result<SqliteConnection, sqlx::Error> {
        self.0.connect().await
    }

    async fn close(&self, connection: SqliteConnection) {
        // The file is closed even if this fails; committed data is in it.
        connection.close().await.ok();
    }

    fn survives(&self, error: &sqlx::Error) -> bool {
        error::leaves_the_session(error)
    }

    fn concerns_all(&self, _: &sqlx::Error) -> bool {
        false
    }

    fn is_clean(&self, connection: &SqliteConnection) -> bool {
        !connection.is_in_transaction()
    }

    fn comes_back(&self, error: &sqlx::Error) -> bool {
        error::is_busy(error)
    }

    fn no_connection(&self) -> sqlx::Error {
        sqlx::Error::PoolTimedOut
    }

    fn no_answer(&self, within: Duration) -> sqlx::Error {
        error::no_answer(within)
    }

    fn closed(&self) -> sqlx::Error {
        sqlx::Error::PoolClosed
    }
}

/// Rolls back a transaction because of `cause`. If the disk is full or fails, SQLite has already rolled it back, and
/// the rollback fails: the pool then sees that the connection still counts a transaction, and drops it.
pub async fn rolled_back(transaction: Transaction<'_, Sqlite>, cause: sqlx::Error) -> sqlx::Error {
    if error::leaves_the_session(&cause)
        && let Err(error) = transaction.rollback().await
    {
        tracing::debug!(%error, "a transaction could not be rolled back; its connection is closed");
    }
    cause
}
