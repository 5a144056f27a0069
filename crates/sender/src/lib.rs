//! Decorators between a mail lane and its transports: several senders with fail-over, and the suppression list.
//!
//! Owns inner tries, rates, fail-over and cool-down ([`Reliable`]), and removing suppressed recipients and adding new
//! ones to the list ([`SuppressionFilter`]). Must not know a protocol, a contract or a database.
//!
//! Invariant: one outcome per envelope, whatever a transport does, and one outer attempt for any number of inner tries.

pub mod reliable;
pub mod suppression;

pub use reliable::{Reliable, RetryPlan, Sender};
pub use suppression::SuppressionFilter;
