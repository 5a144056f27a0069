//! The seam to the three databases: how each writes SQL, and how it runs an insert that may meet its key again.

use std::future::Future;

use crate::insert::Insert;
use crate::{Enqueued, Error, Times};

/// A connection or an open transaction of sqlx: `&mut *transaction`. Sealed; implemented for sqlx's `PgConnection`,
/// `MySqlConnection` and `SqliteConnection`, each with its feature.
pub trait Connection: Speaks {}

/// How a database writes what an insert needs.
pub trait Dialect {
    const QUOTE: char;
    /// How reference tables keep times.
    const TIMES: Times;
    /// Do casts of the table matter? Elsewhere columns take text as it is.
    const CASTS: bool;

    fn placeholder(n: usize) -> String;
    /// The clock's time, in UTC.
    fn now(times: Times) -> String;
    /// The same, so many microseconds later.
    fn after(times: Times, micros: &str) -> String;
    /// A moment in microseconds since 1970.
    fn at(times: Times, micros: &str) -> String;
    fn as_text(column: &str) -> String;
}

/// What seals [`Connection`].
pub trait Speaks: Send {
    /// Inserts the row, or finds the one that has its key. Not idempotent without a key; cancel-safe as far as the
    /// transaction is: roll back. One round trip, two if the key was there.
    fn insert(&mut self, insert: &Insert<'_>) -> impl Future<Output = Result<Enqueued, Error>> + Send;
}
