//! Subscriptions: which events create jobs, and for which target.
//!
//! Owns: subscriptions and their matching rules (J4). Must not: deliver. Invariant: events that match a paused
//! subscription still create jobs, which wait.

mod change;
mod filter;
mod view;

pub use change::NewSubscription;
pub use filter::{DataFilter, FilterOp};
pub(crate) use filter::{is_pattern, matches_code};
pub use view::Subscription;
pub(crate) use view::{TABLE, read};
