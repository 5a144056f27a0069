//! What stands between a mail lane and its transports: several senders that stand in for one another, and the list of
//! recipients that get nothing any more.
//!
//! Owns: inner tries, rates, fail-over and cool-down ([`Reliable`]); dropping suppressed recipients and learning new ones
//! ([`Suppressing`]). Must not: know a protocol, a contract or a database.
//!
//! Invariant: one outcome per envelope, whatever a transport does, and one outer attempt however many inner tries.

pub mod reliable;
pub mod suppressing;

pub use reliable::{Plan, Reliable, Sender};
pub use suppressing::Suppressing;
