//! Opens connections to the file.

use postrider_sql::driver::pool::Connect;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use crate::error::Errors;

/// Opens connections to the file for the pool.
#[derive(Clone)]
pub struct Connector(pub SqliteConnectOptions);

impl Connect for Connector {
    type Connection = SqliteConnection;
    type Errors = Errors;

    async fn connect(&self) -> Result<SqliteConnection, sqlx::Error> {
        self.0.connect().await
    }

    async fn close(&self, connection: SqliteConnection) {
        // The file is closed even if this fails; committed data is in it.
        connection.close().await.ok();
    }

    fn is_clean(&self, connection: &SqliteConnection) -> bool {
        !connection.is_in_transaction()
    }
}
