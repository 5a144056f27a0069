//! Kafka transport: sends records to a cluster through librdkafka and returns an outcome for each.
//!
//! Owns: the producer (idempotent, acks=all), its local queue, and the classification of its delivery reports. Must
//! not: retry a record that it returned an outcome for, or know a contract.
//!
//! Invariant: a record is delivered when the cluster has acknowledged it, and records of one key arrive in the order
//! of the calls. When the producer gives up a record, those still queued behind it are dropped too: that producer is
//! retired, and a new one starts with the next call.

mod classify;
pub mod config;
mod connection_monitor;
mod deliver;
mod encode;
pub mod error;
mod producer;

pub use config::{Compression, Credentials, Mechanism, Settings};
pub use deliver::Kafka;
pub use error::Error;
