//! Webhook transport: posts signed payloads to URLs and returns an outcome for each.
//!
//! Owns: the request of a row and its signature (Standard Webhooks), the classification of responses (rule J5), and
//! the limits, Retry-After delays and circuit breakers of hosts. Must not: retry, count attempts, follow redirects, or
//! know a contract.
//!
//! Invariant: every secret of a row signs its request; the composer defers rows whose secrets are missing. A URL that
//! cannot be dialled is not signed. A host that is slow, failing or sent Retry-After delays its own rows only: they are
//! deferred, which costs no attempt.

mod attempt;
mod classify;
pub mod config;
mod deliver;
mod encode;
pub mod error;
mod hosts;
mod retry_after;
pub mod sign;

pub use config::Settings;
pub use deliver::Webhooks;
pub use encode::USER_AGENT;
pub use error::Error;
