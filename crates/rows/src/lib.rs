//! The contract's verbs on rows held in memory: a row's state, whether it is due, and how a transition changes it.
//!
//! Owns: these verbs for one row, for the stores without SQL (memory, DynamoDB). Must not: store rows, know a clock or
//! a database. Invariant: it changes a row exactly as the contract's assignments define, like the SQL of the other
//! stores.

mod apply;
mod condition;
mod crash;
pub mod takeover;

use std::collections::BTreeMap;
use std::time::Duration;

use postrider_seams::Value;

pub use apply::{TransitionInput, apply_transition, effect_row, extend_lease};
pub use condition::{
    column_value, counters, due_at, due_in, fence, has_attempts_left, int, is_blocked_by_sweep, lease_end,
    literal, matches_filter, role_value, state_of, sweep_is_due, times, was_deferred,
};
pub use crash::crash;

/// Column → value. Times are whole microseconds since 1970; a missing column is NULL.
pub type Row = BTreeMap<String, Value>;

/// The time that stands for "never": 9999-12-31, in microseconds since 1970.
pub const NEVER: i64 = 253_402_214_400_000_000;

/// Returns the duration in microseconds, at most a quarter of the range of `i64`, so that it can be added to a time.
pub fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX / 4)
}
