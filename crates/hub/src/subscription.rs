//! Subscriptions: which events become jobs, and with what target.
//!
//! Owns: subscriptions and their rules of matching (J4). Must not: deliver. Invariant: events that match a paused
//! subscription still make jobs; those wait.

mod change;
mod filter;
mod view;

pub use change::NewSubscription;
pub use filter::{DataFilter, FilterOp};
pub(crate) use filter::{is_pattern, matches_code};
pub use view::Subscription;
pub(crate) use view::{SHEET, read};
