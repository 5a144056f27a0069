//! AMQP 0.9.1 transport: publishes records to exchanges and waits until the broker has confirmed each.
//!
//! Owns: one connection, a bounded number of channels in confirm mode, and the handling of confirms and returns. Must
//! not: declare exchanges or queues, retry a message that the broker may have accepted, or know a contract.
//!
//! Invariant: a record is delivered when the broker has confirmed it and has not returned it as unroutable. A record
//! for which the broker closes the channel harms no other: while a channel publishes to an exchange for the first
//! time, nothing else is in flight on it.
//!
//! Routes: a record goes to the exchange of the settings with the topic as routing key; without that setting, a topic
//! `exchange/routing.key` names both, and a plain topic is the name of a queue.

pub mod channel_pool;
mod classify;
pub mod config;
mod connect;
mod deliver;
mod encode;
pub mod error;
mod publish_batch;

pub use config::{Credentials, Settings};
pub use deliver::Amqp;
pub use error::Error;
