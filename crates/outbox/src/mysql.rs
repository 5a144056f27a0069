//! MySQL and MariaDB: a plain INSERT, and a query for the existing row if its key is a duplicate. A failed statement
//! does not abort the transaction there.
//!
//! Not `ON DUPLICATE KEY UPDATE`: it also reacts to other unique indexes, and sqlx's connections (`CLIENT_FOUND_ROWS`)
//! report one row whether it was inserted or not. Not `INSERT IGNORE`: it also ignores truncation.

use postrider_sql_builder::Dialect;
use sqlx::{AssertSqlSafe, MySqlConnection};

use crate::connection::{Connection, InsertRow, bind_values};
use crate::insert::Insert;
use crate::{Enqueued, Error};

impl Connection for MySqlConnection {}

impl InsertRow for MySqlConnection {
    async fn insert(&mut self, insert: &Insert<'_>) -> Result<Enqueued, Error> {
        let statement = insert.render(Dialect::Mysql)?.finish();
        let query = sqlx::query(AssertSqlSafe(statement.sql.as_str()));
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
        (Some(id), _) => Ok(Enqueued { id: id.to_owned(), inserted: true }),
        (None, 0) => Err(Error::NoId { table: insert.table.name().to_owned() }),
        (None, id) => Ok(Enqueued { id: id.to_string(), inserted: true }),
    }
}

/// Finds the existing row with a locking read, because the transaction's snapshot may be older than the row. `None` if
/// another unique index caused the conflict.
async fn find_existing(
    connection: &mut MySqlConnection,
    insert: &Insert<'_>,
) -> Result<Option<Enqueued>, Error> {
    let text = format!("{} LOCK IN SHARE MODE", insert.select_existing(Dialect::Mysql));
    let found: Option<(String, String)> = sqlx::query_as(AssertSqlSafe(text.as_str()))
        .bind(insert.dedupe)
        .fetch_optional(connection)
        .await
        .map_err(|cause| insert.failed(cause))?;
    let Some((id, key)) = found else { return Ok(None) };
    insert.check_same_key(key).map(|()| Some(Enqueued { id, inserted: false }))
}
