//! The traits for the three databases: their SQL dialects, and an insert that tolerates an existing idempotency key.

use std::future::Future;

use crate::insert::Insert;
use crate::{Enqueued, Error, Times};

/// A connection or an open transaction of sqlx: `&mut *transaction`.
///
/// The trait is sealed. It is implemented for sqlx's `PgConnection`, `MySqlConnection` and `SqliteConnection`, each
/// with its feature.
pub trait Connection: Speaks {}

/// The SQL dialect of a database, as far as an insert needs it.
pub trait Dialect {
    const QUOTE: char;
    /// The type of time columns in the reference tables.
    const TIMES: Times;
    /// Whether the casts of a table apply. Other databases assign text to columns of any type.
    const CASTS: bool;

    /// The placeholder of the `n`th bound value, counted from 1.
    fn placeholder(n: usize) -> String;
    /// The expression for the current time of the database, in UTC.
    fn now(times: Times) -> String;
    /// The expression for the current time plus a number of microseconds.
    fn after(times: Times, micros: &str) -> String;
    /// The expression for a time given in microseconds since 1970.
    fn at(times: Times, micros: &str) -> String;
    /// The expression for a column as text.
    fn as_text(column: &str) -> String;
}

/// The supertrait that seals [`Connection`].
pub trait Speaks: Send {
    /// Inserts the row, or finds the existing row with its idempotency key. One round trip, two if the key exists.
    ///
    /// Not idempotent without a key. If it is cancelled, roll back the transaction.
    fn insert(&mut self, insert: &Insert<'_>) -> impl Future<Output = Result<Enqueued, Error>> + Send;
}
