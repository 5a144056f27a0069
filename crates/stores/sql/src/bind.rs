//! The driver-independent part of running a [`Statements`](crate::Statements): values for placeholders, and reading of rows.
//!
//! Owns: which settlements share a statement, the values of a [`Param`], the JSON that MySQL and SQLite unpack, and the
//! reading of rows by [`Layout`](crate::Layout). Must not: know a driver. Invariant: a settlement is in exactly one
//! group, and no key appears twice in a group.

mod given;
mod tsid;

#[cfg(test)]
mod tests;

pub use crate::claim::row::{claimed, count, fields, in_order, joined, key, lease, whole};
pub use crate::settle::batches::{Group, group};
pub use given::{Groups, Moves, Share, Shares, Values, json_ids, json_texts, text, value, without_nul};
pub use tsid::tsid;

/// Returns a worker id that is unique per start, so that a restarted worker never treats a dead worker's leases as its
/// own.
pub fn instance_id() -> String {
    format!("pr-{:016x}", rand::random::<u64>())
}
