//! Sessions: how one is opened, and how a transaction on it is given up.

use std::time::Duration;

use postrider_sql::run::pool::Connect;
use sqlx::mysql::{MySql, MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Transaction};

use crate::error;

#[derive(Clone)]
pub struct Connector {
    options: MySqlConnectOptions,
    settings: [String; 2],
}

impl Connector {
    pub fn new(options: MySqlConnectOptions, timeout: Duration, most: Duration) -> Self {
        Self { options, settings: session_settings(timeout, most) }
    }
}

/// What a session must be, whatever the server's settings: no gap locks (they stop producers' inserts), and literals that
/// mean what the renderer meant (backslash escapes, double quotes are text, assignments from left to right). A lock is
/// waited for half as long as a call may take, so that the server says what is wrong. MariaDB ends the transactions of a
/// worker that is gone, so that the rows it locked are free for others, and statements that nobody waits for any more
/// (`/*M! */` is a comment to MySQL, which has nothing like it).
fn session_settings(timeout: Duration, most: Duration) -> [String; 2] {
    let (wait, idle) = ((timeout.as_secs() / 2).max(1), timeout.as_secs().max(1));
    let most = most.as_secs().max(1);
    [
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED".to_owned(),
        format!(
            "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', \
             /*M!100301 SESSION idle_transaction_timeout = {idle}, SESSION max_statement_time = {most}, */ \
             SESSION innodb_lock_wait_timeout = {wait}, SESSION autocommit = 1"
        ),
    ]
}

impl Connect for Connector {
    type Connection = MySqlConnection;
    type Error = sqlx::Error;

    async fn connect(&self) -> Result<MySqlConnection, sqlx::Error> {
        let mut connection = self.options.connect().await?;
        for statement in &self.settings {
            connection.execute(AssertSqlSafe(statement.as_str())).await?;
        }
        Ok(connection)
    }

    async fn close(&self, connection: MySqlConnection) {
        // The socket is closed whatever the server says.
        connection.close().await.ok();
    }

    fn survives(&self, error: &sqlx::Error) -> bool {
        error::leaves_the_session(error)
    }

    fn concerns_all(&self, error: &sqlx::Error) -> bool {
        error::is_read_only(error)
    }

    fn is_clean(&self, connection: &MySqlConnection) -> bool {
        !connection.is_in_transaction()
    }

    fn comes_back(&self, error: &sqlx::Error) -> bool {
        error::is_starting(error)
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

/// Gives up a transaction because of `cause`. Where the session is lost the server does that by itself.
pub async fn rolled_back(transaction: Transaction<'_, MySql>, cause: sqlx::Error) -> sqlx::Error {
    if !error::leaves_the_session(&cause) {
        return cause;
    }
    match transaction.rollback().await {
        Ok(()) => cause,
        // The connection is lost, which says more than what went wrong on it.
        Err(lost) => lost,
    }
}
