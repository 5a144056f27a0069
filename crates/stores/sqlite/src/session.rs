//! Connections to the file, and how a transaction on one is given up.

use std::time::Duration;

use postrider_sql::run::pool::Connect;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _, Sqlite, Transaction};

use crate::error;

#[derive(Clone)]
pub struct Connector(pub SqliteConnectOptions);

impl Connect for Connector {
    type Connection = SqliteConnection;
    type Error = sqlx::Error;

    async fn connect(&self) -> Result<SqliteConnection, sqlx::Error> {
        self.0.connect().await
    }

    async fn close(&self, connection: SqliteConnection) {
        // The file is closed either way; what was committed is in it.
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

/// Gives up a transaction because of `cause`. SQLite has given it up by itself where the disk is full or fails, and then a
/// rollback fails: the pool sees that the connection still counts a transaction, and drops it.
pub async fn rolled_back(transaction: Transaction<'_, Sqlite>, cause: sqlx::Error) -> sqlx::Error {
    if error::leaves_the_session(&cause)
        && let Err(error) = transaction.rollback().await
    {
        tracing::debug!(%error, "a transaction could not be rolled back; its connection is closed");
    }
    cause
}
