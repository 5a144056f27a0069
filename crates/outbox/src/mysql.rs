//! MySQL and MariaDB: a plain INSERT, and a query for the existing row if its key is a duplicate. A failed statement
//! does not abort the transaction there.
//!
//! Not `ON DUPLICATE KEY UPDATE`: it also reacts to other unique indexes, and sqlx's connections (`CLIENT_FOUND_ROWS`)
//! report one row whether it was inserted or not. Not `INSERT IGNORE`: it also ignores truncation.

use sqlx::{AssertSqlSafe, MySqlConnection};

use crate::connection::{Connection, Dialect, InsertRow, bind_values};
use crate::insert::Insert;
use crate::{Enqueued, Error, Times};

impl Dialect for MySqlConnection {
    const QUOTE: char = '`';
    const TIMES: Times = Times::Utc;
    const CASTS: bool = false;

    fn placeholder(_: usize) -> String {
        "?".to_owned()
    }

    fn now(times: Times) -> String {
        clock(times).to_owned()
    }

    fn after(times: Times, micros: &str) -> String {
        format!("({} + INTERVAL {micros} MICROSECOND)", clock(times))
    }

    fn at(times: Times, micros: &str) -> String {
        match times {
            // The session's time zone applies when the value is written and when it is read.
            Times::Zoned => format!("FROM_UNIXTIME({micros} / 1000000)"),
            Times::Utc => format!("(TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {micros} MICROSECOND)"),
        }
    }

    fn as_text(column: &str) -> String {
        format!("CAST({column} AS CHAR)")
    }
}

/// The current time: in the session's time zone for a `TIMESTAMP` column, in UTC for `DATETIME`, which has no zone.
fn clock(times: Times) -> &'static str {
    match times {
        Times::Zoned => "CURRENT_TIMESTAMP(6)",
        Times::Utc => "UTC_TIMESTAMP(6)",
    }
}

impl Connection for MySqlConnection {}

impl InsertRow for MySqlConnection {
    async fn insert(&mut self, insert: &Insert<'_>) -> Result<Enqueued, Error> {
        let statement = insert.render::<Self>()?;
        let query = sqlx::query(AssertSqlSafe(statement.text.as_str()));
        match bind_values!(query, statement).execute(&mut *self).await {
            Ok(done) => inserted_id(insert, done.last_insert_id()),
            Err(cause) if insert.dedupe.is_some() && is_duplicate(&cause) => {
                find_existing(self, insert).await?.ok_or_else(|| insert.failed(cause))
            }
            Err(cause) => Err(insert.failed(cause)),
        }
    }
}

fn is_duplicate(cause: &sqlx::Error) -> bool {
    cause.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}

fn inserted_id(insert: &Insert<'_>, last: u64) -> Result<Enqueued, Error> {
    match (insert.id, last) {
        (Some(id), _) => Ok(Enqueued { id: id.to_owned(), fresh: true }),
        (None, 0) => Err(Error::NoId { table: insert.table.name().to_owned() }),
        (None, id) => Ok(Enqueued { id: id.to_string(), fresh: true }),
    }
}

/// Finds the existing row with a locking read, because the transaction's snapshot may be older than the row. `None` if
/// another unique index caused the conflict.
async fn find_existing(
    connection: &mut MySqlConnection,
    insert: &Insert<'_>,
) -> Result<Option<Enqueued>, Error> {
    let text = format!("{} LOCK IN SHARE MODE", insert.select_existing::<MySqlConnection>());
    let found: Option<(String, String)> = sqlx::query_as(AssertSqlSafe(text.as_str()))
        .bind(insert.dedupe)
        .fetch_optional(connection)
        .await
        .map_err(|cause| insert.failed(cause))?;
    let Some((id, key)) = found else { return Ok(None) };
    insert.check_same_key(key).map(|()| Some(Enqueued { id, fresh: false }))
}
