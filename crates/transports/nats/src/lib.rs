//! NATS JetStream transport: publishes records and waits until a stream has stored each.
//!
//! Owns: one connection, replaced when it is lost, and the classification of acknowledgements. Must not: create
//! streams, retry, or know a contract.
//!
//! Invariant: a record is delivered when a stream has acknowledged it, and records of one call are stored in order:
//! what a lost connection had queued is dropped with it. All deliveries of one row have the same `Nats-Msg-Id`, so
//! that a stream drops the second within its duplicate window (2 minutes by default).

mod classify;
pub mod config;
pub mod connection;
mod deliver;
mod encode;
pub mod error;
mod events;

pub use config::{Credentials, Settings};
pub use connection::SharedConnection;
pub use deliver::Nats;
pub use error::Error;
