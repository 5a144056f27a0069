//! The driver-free half of running a [`Program`](crate::Program): what each placeholder gets, and what rows mean.
//!
//! Owns: which settlements share a statement, the values of a [`Bind`], the JSON that MySQL and SQLite unpack, and the
//! reading of rows by [`Layout`](crate::Layout). Must not: know a driver. Invariant: a settlement is in exactly one
//! group, and no key is twice in a group.

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

/// How long to wait before try `tried + 1` of a transaction that a deadlock ended: short, and never in step with
/// the one it collided with.
pub fn collision_pause(tried: u32) -> Duration {
    let most = 10u64 << tried.min(6);
    Duration::from_millis(rand::random_range(1..=most))
}

/// A worker's id: unique per start, so that a restart never takes a dead worker's leases for its own.
pub fn instance_id() -> String {
    format!("pr-{:016x}", rand::random::<u64>())
}

/// Does a step with these binds need keys that an earlier step held?
pub fn needs_held(binds: &[Bind]) -> bool {
    binds.iter().any(|bind| matches!(bind, Bind::Held))
}
