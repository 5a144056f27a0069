//! SMTP transport: sends mails to one relay and returns the result of each recipient.
//!
//! Owns: the connections to that relay, their number and rate, and the classification of its replies. Must not: retry
//! a mail that was sent to the relay, know a contract, or look up MX records. Invariant: a mail whose final dot may
//! have reached the relay is never sent again by the same call.

mod auth;
mod classify;
pub mod config;
mod connection;
mod deliver;
mod ehlo;
mod encode;
pub mod error;
mod outcome;
mod pace;
mod pool;
mod reply;
mod room;
mod run;
mod session;
mod stream;
mod tls;
mod transaction;

pub use config::{Credentials, Mechanism, Secret, Settings, Timeouts, Tls};
pub use deliver::Smtp;
pub use error::Error;
