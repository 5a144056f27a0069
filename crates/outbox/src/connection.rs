//! The traits for the three databases: an insert that tolerates an existing idempotency key.

use std::future::Future;

use crate::insert::Insert;
use crate::{Enqueued, Error};

/// A connection or an open transaction of sqlx: `&mut *transaction`.
///
/// The trait is sealed. It is implemented for sqlx's `PgConnection`, `MySqlConnection` and `SqliteConnection`, each
/// with its feature.
pub trait Connection: InsertRow {}

/// The supertrait that seals [`Connection`].
pub trait InsertRow: Send {
    /// Inserts the row, or finds the existing row with its idempotency key. One round trip, two if the key exists.
    ///
    /// Not idempotent without a key. If it is cancelled, roll back the transaction.
    fn insert(&mut self, insert: &Insert<'_>) -> impl Future<Output = Result<Enqueued, Error>> + Send;
}

/// Binds the values of a statement. A macro, because each database has its own type of queries.
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
macro_rules! bind_values {
    ($query:expr, $statement:expr) => {
        $statement.args.iter().fold($query, |query, value| match value {
            $crate::insert::BoundValue::Borrowed(text) => query.bind(*text),
            $crate::insert::BoundValue::Owned(text) => query.bind(text.as_str()),
            $crate::insert::BoundValue::Int(number) => query.bind(*number),
        })
    };
}
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
pub(crate) use bind_values;

/// Number of tries of [`insert_or_find`]: outside a transaction, the existing row may be purged between our INSERT and
/// our SELECT, but hardly several times.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub const TRIES: usize = 5;

/// Implements the insert of a database whose INSERT can do nothing if the key exists.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
macro_rules! insert_or_find {
    ($connection:ty, $dialect:expr) => {
        impl $crate::connection::Connection for $connection {}

        impl $crate::connection::InsertRow for $connection {
            async fn insert(&mut self, insert: &Insert<'_>) -> Result<Enqueued, Error> {
                let statement = insert.render_idempotent($dialect)?;
                let existing = insert.select_existing($dialect);
                for _ in 0..$crate::connection::TRIES {
                    let query = sqlx::query_scalar::<_, String>(AssertSqlSafe(statement.sql.as_str()));
                    let query = $crate::connection::bind_values!(query, statement);
                    // Fetches all rows, not only the first: on SQLite an unfinished statement keeps its lock.
                    let mut ids = query.fetch_all(&mut *self).await.map_err(|cause| insert.failed(cause))?;
                    if let Some(id) = ids.pop() {
                        return Ok(Enqueued { id, inserted: true });
                    }
                    let mut found: Vec<(String, String)> = sqlx::query_as(AssertSqlSafe(existing.as_str()))
                        .bind(insert.dedupe)
                        .fetch_all(&mut *self)
                        .await
                        .map_err(|cause| insert.failed(cause))?;
                    if let Some((id, key)) = found.pop() {
                        return insert.check_same_key(key).map(|()| Enqueued { id, inserted: false });
                    }
                }
                Err(insert.deleted_concurrently())
            }
        }
    };
}
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use insert_or_find;
