//! Opens sessions.

use std::time::Duration;

use postrider_sql::driver::pool::Connect;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};

use crate::connect::IDLE;
use crate::error::Errors;

/// Time by which a session may stay silent for longer than the pool keeps it: the pool never gets one that the server
/// is closing.
const MARGIN: Duration = Duration::from_secs(30);

/// Opens sessions with our settings for the pool.
#[derive(Clone)]
pub struct Connector {
    options: MySqlConnectOptions,
    settings: [String; 2],
}

impl Connector {
    /// Creates a connector; `timeout` limits lock waits, `most` limits statements.
    pub fn new(options: MySqlConnectOptions, timeout: Duration, most: Duration) -> Self {
        Self { options, settings: session_settings(timeout, most) }
    }
}

/// Returns the settings of a session, which do not depend on the server's: no gap locks (they block the inserts of
/// producers), and literals as the renderer writes them (backslash escapes, double quotes for text, assignments from
/// left to right). A lock wait is limited to half the time of a call, so that the server reports the reason.
/// `wait_timeout` ends the sessions of workers that are gone, which releases their row locks; the server's own limit is
/// hours. MariaDB ends their transactions sooner, and also statements whose client no longer waits (`/*M! */` is a
/// comment in MySQL, which has no such settings).
fn session_settings(timeout: Duration, most: Duration) -> [String; 2] {
    let (wait, idle) = ((timeout.as_secs() / 2).max(1), timeout.as_secs().max(1));
    let most = most.as_secs().max(1);
    let silent = (IDLE.max(timeout) + MARGIN).as_secs();
    [
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED".to_owned(),
        format!(
            "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', \
             /*M!100301 SESSION idle_transaction_timeout = {idle}, SESSION max_statement_time = {most}, */ \
             SESSION innodb_lock_wait_timeout = {wait}, SESSION wait_timeout = {silent}, SESSION autocommit = 1"
        ),
    ]
}

impl Connect for Connector {
    type Connection = MySqlConnection;
    type Errors = Errors;

    async fn connect(&self) -> Result<MySqlConnection, sqlx::Error> {
        let mut connection = self.options.connect().await?;
        for statement in &self.settings {
            connection.execute(AssertSqlSafe(statement.as_str())).await?;
        }
        Ok(connection)
    }

    async fn close(&self, connection: MySqlConnection) {
        // The socket is closed whatever the server answers.
        connection.close().await.ok();
    }

    fn is_clean(&self, connection: &MySqlConnection) -> bool {
        !connection.is_in_transaction()
    }
}
