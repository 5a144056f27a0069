//! Rows held as values: what state they are in, whether they are due, and what a move makes of them.
//!
//! Owns: the contract's verbs on one row in memory, for the stores that have no SQL to say them in (memory, DynamoDB).
//! Must not: keep rows, know a clock or a database. Invariant: what it makes of a row is what the contract's
//! assignments say, as the SQL of the other stores does.

mod apply;
mod condition;
mod crash;
pub mod takeover;

use std::collections::BTreeMap;
use std::time::Duration;

use postrider_seams::Value;

pub use apply::{Given, effect, extended, moved};
pub use condition::{
    counters, due_at, due_in, fence, get, has_attempts_left, int, is_barred, is_ours, is_time, lease_end,
    literal, role, state_of, times, was_deferred,
};
pub use crash::crash;

/// Column → value. Times are whole microseconds since 1970; a missing column is NULL.
pub type Row = BTreeMap<String, Value>;

/// 9999-12-31, in microseconds.
pub const NEVER: i64 = 253_402_214_400_000_000;

/// Microseconds, for adding to a clock of them.
pub fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX / 4)
}
