//! Kafka: hands records to a cluster through librdkafka and says what became of each.
//!
//! Owns: the producer (idempotent, acks=all), its local queue, and the reading of its delivery reports. Must not:
//! retry a record that it gave an answer for, or know a contract.
//!
//! Invariant: a record is delivered when the cluster has acknowledged it, and records of one key arrive in the order
//! of the calls. A record that the producer gave up takes the ones still waiting behind it along: that producer is
//! retired, and a new one starts with the next call.

mod classify;
pub mod config;
mod deliver;
mod encode;
pub mod error;
mod link;
mod producer;

pub use config::{Compression, Credentials, Mechanism, Settings};
pub use deliver::Kafka;
pub use error::Error;
