//! Webhook transport: posts signed payloads to URLs and returns an outcome for each.
//!
//! Owns: the request of a row and its signature (Standard Webhooks), the classification of responses (rule J5), and
//! the limits, holds and circuit breakers of hosts. Must not: retry, count attempts, follow redirects, or know a
//! contract.
//!
//! Invariant: a row whose account lacks its secret never gets here; every named secret signs, and a URL that cannot be
//! dialled is not signed. A host that is slow, held or failing delays its own rows only: they are deferred, untried
//! and free.

mod classify;
pub mod config;
mod deliver;
mod encode;
pub mod error;
mod hosts;
mod record;
mod retry_after;
pub mod sign;

pub use config::Settings;
pub use deliver::Webhooks;
pub use encode::{USER_AGENT, is_reserved};
pub use error::Error;
