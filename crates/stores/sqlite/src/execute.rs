//! Runs statements on SQLite: begins transactions, binds arguments, and reads the returned rows.

use std::time::Duration;

use postrider_seams::WakeUps;
use postrider_seams::row::Value;
use postrider_seams::store::Error;
use postrider_sql::Dialect;
use postrider_sql::driver::errors::DriverErrors as _;
use postrider_sql::driver::execute::{Arg, Statement};
use postrider_sql::driver::pool::Pool;
use postrider_sql::driver::{Access, Driver, Retries};
use postrider_sql::driver_over_sqlx;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _, TypeInfo as _, ValueRef as _};

use crate::connect::Database;
use crate::error::{self, Errors};
use crate::session::Connector;

impl Driver for Database {
    const DIALECT: Dialect = Dialect::Sqlite;

    driver_over_sqlx!(Sqlite);

    fn owner(&self) -> &str {
        &self.instance
    }

    /// Returns the same database: every call already has the time that locks of other processes need.
    fn with_long_deadline(&self) -> Self {
        self.clone()
    }

    fn wake_ups(&self) -> &WakeUps {
        &self.wake_ups
    }

    /// Calls that only read use a reader, and leave the writer free.
    fn pool(&self, access: Access) -> &Pool<Connector> {
        match access {
            Access::Read => &self.readers,
            Access::Write => &self.writer,
        }
    }

    fn deadline(&self) -> Duration {
        self.deadline
    }

    fn retries(&self) -> Retries {
        Retries::Within(self.patience)
    }

    /// There is no server to reach.
    async fn reach(&self) -> Result<(), Error> {
        Ok(())
    }

    /// A transaction that writes takes its lock at once: it could not be upgraded after another one has written.
    async fn begin<'c>(
        &self,
        connection: &'c mut SqliteConnection,
        access: Access,
    ) -> Result<Self::Transaction<'c>, sqlx::Error> {
        let begin = if access == Access::Read { "BEGIN" } else { "BEGIN IMMEDIATE" };
        connection.begin_with(begin).await
    }

    /// If the disk is full or fails, SQLite has already rolled back, and the rollback fails: the pool then sees that
    /// the connection still counts a transaction, and drops it.
    async fn roll_back(transaction: Self::Transaction<'_>, cause: sqlx::Error) -> sqlx::Error {
        if Errors::keeps_session(&cause)
            && let Err(error) = transaction.rollback().await
        {
            tracing::debug!(%error, "a transaction could not be rolled back; its connection is closed");
        }
        cause
    }

    fn error(&self, doing: &str, cause: sqlx::Error) -> Error {
        error::classify(&self.place, doing, cause)
    }
}

fn bound(_: &Database, statement: &Statement) -> Query<'static, Sqlite, SqliteArguments> {
    let query = sqlx::query(AssertSqlSafe(statement.sql.clone()));
    statement.args.iter().cloned().fold(query, |query, arg| match arg {
        Arg::Text(text) => query.bind(text),
        Arg::Int(number) => query.bind(number),
        Arg::Float(number) => query.bind(number),
        Arg::Flag(flag) => query.bind(flag),
        Arg::Bytes(bytes) => query.bind(bytes),
        Arg::Texts(_) | Arg::Floats(_) => unreachable!("SQLite has no arrays: {}", statement.sql),
    })
}

fn reader() -> impl FnMut(&SqliteRow) -> Vec<Value> {
    |row| (0..row.len()).map(|index| value(row, index)).collect()
}

/// Converts a column to a value. SQLite values have their own type, and text need not be UTF-8: such text is returned
/// as bytes, never as an error, as one bad row must not lose the claim of the others.
fn value(row: &SqliteRow, index: usize) -> Value {
    let Ok(raw) = row.try_get_raw(index) else { return Value::Null };
    if raw.is_null() {
        return Value::Null;
    }
    let info = raw.type_info().into_owned();
    drop(raw);
    let read = match info.name() {
        "INTEGER" => row.try_get_unchecked::<i64, _>(index).map(Value::Int),
        "REAL" => row.try_get_unchecked::<f64, _>(index).map(Value::Float),
        "BOOLEAN" => row.try_get_unchecked::<bool, _>(index).map(Value::Bool),
        "BLOB" => row.try_get_unchecked::<Vec<u8>, _>(index).map(Value::Bytes),
        _ => row.try_get_unchecked::<Vec<u8>, _>(index).map(|bytes| match String::from_utf8(bytes) {
            Ok(text) => Value::Text(text),
            Err(broken) => Value::Bytes(broken.into_bytes()),
        }),
    };
    read.unwrap_or_default()
}
