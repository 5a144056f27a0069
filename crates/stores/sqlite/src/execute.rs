//! Runs statements on SQLite: begins transactions, binds arguments, and reads the returned rows.

use std::time::Duration;

use futures::TryStreamExt as _;
use postrider_seams::row::Value;
use postrider_seams::store::Error;
use postrider_sql::Dialect;
use postrider_sql::driver::execute::{Answer, Arg, Statement};
use postrider_sql::driver::pool::Pool;
use postrider_sql::driver::{Access, Driver, Retries};
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{
    AssertSqlSafe, Connection as _, Either, Executor as _, Row as _, Transaction, TypeInfo as _,
    ValueRef as _,
};

use crate::connect::Database;
use crate::error;
use crate::session::{Connector, rolled_back};

impl Driver for Database {
    const DIALECT: Dialect = Dialect::Sqlite;

    type Connection = SqliteConnection;
    type Error = sqlx::Error;
    type Connect = Connector;
    type Transaction<'c> = Transaction<'c, Sqlite>;

    fn owner(&self) -> &str {
        &self.instance
    }

    /// Returns the same database: every call already has the time that locks of other processes need.
    fn unhurried(&self) -> Self {
        self.clone()
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

    /// A transaction that writes takes its lock at once: it could not be upgraded after another one has written.
    async fn begin<'c>(
        &self,
        connection: &'c mut SqliteConnection,
        access: Access,
    ) -> Result<Transaction<'c, Sqlite>, sqlx::Error> {
        let begin = if access == Access::Read { "BEGIN" } else { "BEGIN IMMEDIATE" };
        connection.begin_with(begin).await
    }

    async fn commit(transaction: Self::Transaction<'_>) -> Result<(), sqlx::Error> {
        transaction.commit().await
    }

    async fn roll_back(transaction: Self::Transaction<'_>, cause: sqlx::Error) -> sqlx::Error {
        rolled_back(transaction, cause).await
    }

    async fn execute(
        &self,
        connection: &mut SqliteConnection,
        statement: &Statement,
    ) -> Result<Answer, sqlx::Error> {
        let mut answer = Answer::default();
        let mut stream = connection.fetch_many(bound(statement));
        while let Some(part) = stream.try_next().await? {
            match part {
                Either::Left(done) => answer.changed += done.rows_affected(),
                Either::Right(row) => answer.rows.push(values(&row)),
            }
        }
        Ok(answer)
    }

    /// Another connection holds a lock on the file.
    fn is_collision(error: &sqlx::Error) -> bool {
        error::is_busy(error)
    }

    fn is_missing_table(error: &sqlx::Error) -> bool {
        error::is_missing_table(error)
    }

    fn error(&self, doing: &str, cause: sqlx::Error) -> Error {
        error::classify(&self.place, doing, cause)
    }
}

fn bound(statement: &Statement) -> Query<'static, Sqlite, SqliteArguments> {
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

fn values(row: &SqliteRow) -> Vec<Value> {
    (0..row.len()).map(|index| value(row, index)).collect()
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
