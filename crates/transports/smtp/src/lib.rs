//! SMTP transport: sends mails to one relay and returns the result of each recipient.
//!
//! Owns: the connections to that relay, their number and rate, and the classification of its replies. Must not: retry
//! a mail that was sent to the relay, know a contract, or look up MX records. Invariant: a mail whose final dot may
//! have reached the relay is never sent again by the same call.

mod auth;
mod classify;
pub mod config;
mod connection;
mod connection_pool;
mod deliver;
mod ehlo;
mod encode;
pub mod error;
mod mail_batch;
mod outcome;
mod rate_limiter;
mod recipient_limit;
mod reply;
mod session;
mod stream;
mod tls;
mod transaction;

pub use config::{Credentials, Mechanism, Settings, Timeouts, Tls};
pub use deliver::Smtp;
pub use error::Error;
