//! The driver-independent part of running a statement: its values, and how the columns of its rows are read.
//!
//! Must not: know a driver.

pub mod params;
mod tsid;
mod values;

#[cfg(test)]
mod tests;

pub use crate::claim::params::Claiming;
pub use crate::claim::row::{count, in_order, key, whole};
pub use crate::settle::params::{Leases, Settlements};
pub use params::{Ids, Limit};
pub use tsid::tsid;
pub(crate) use values::json;
pub use values::{json_ids, json_texts, text, without_nul};

/// Returns a worker id that is unique per start, so that a restarted worker never treats a dead worker's leases as its
/// own.
pub fn instance_id() -> String {
    format!("pr-{:016x}", rand::random::<u64>())
}
