//! Webhooks: posts payloads to URLs, signed, and says what came of each.
//!
//! Owns: the request of a row and its signature (Standard Webhooks), what answers mean (rule J5), and the limits,
//! holds and breakers of hosts. Must not: retry, count, follow redirects, or know a contract.
//!
//! Invariant: an account's secret that is not there never leads here; what is named is signed, what can't be dialled
//! is not. A host that is slow, held or broken delays its own rows only: they are deferred, untried and free.

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
