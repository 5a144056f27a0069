//! The driver-independent part of running a [`Program`](crate::Program): values for placeholders, and reading of rows.
//!
//! Owns: which settlements share a statement, the values of a [`Bind`], the JSON that MySQL and SQLite unpack, and the
//! reading of rows by [`Layout`](crate::Layout). Must not: know a driver. Invariant: a settlement is in exactly one
//! group, and no key appears twice in a group.

mod given;
mod group;
mod layout;
mod tsid;

#[cfg(test)]
mod tests;

pub use given::{Given, Groups, Moves, Share, Shares, json_ids, json_texts, text, value, without_nul};
pub use group::{Group, group};
pub use layout::{claimed, count, fields, in_order, joined, key, lease, whole};
pub use tsid::tsid;

use std::time::Duration;

use crate::Bind;

/// Returns how long to wait before try `tried + 1` of a transaction that ended in a deadlock.
///
/// The wait is short (at most 640 ms) and random, so that the two transactions do not collide again.
pub fn collision_pause(tried: u32) -> Duration {
    let most = 10u64 << tried.min(6);
    Duration::from_millis(rand::random_range(1..=most))
}

/// Returns a worker id that is unique per start, so that a restarted worker never treats a dead worker's leases as its
/// own.
pub fn instance_id() -> String {
    format!("pr-{:016x}", rand::random::<u64>())
}

/// Whether a step with these binds needs the keys that an earlier step held.
pub fn needs_held(binds: &[Bind]) -> bool {
    binds.iter().any(|bind| matches!(bind, Bind::Held))
}
