//! SQS: sends records to queues in batches of ten and says what became of each.
//!
//! Owns: the client, the addresses of queues, and the reading of answers. Must not: create queues, retry, or know a
//! contract.
//!
//! Invariant: a record is delivered when SQS has answered with its message id. In a FIFO queue (`….fifo`) a group has
//! one record under way at a time, and one that failed holds the rest of its group back: SQS may refuse a single entry
//! of a batch.
//!
//! A topic is the name of a queue, or its URL. The key is the group of a FIFO queue; records without one are groups of
//! their own. All deliveries of one row carry the same deduplication id.

pub mod classify;
pub mod client;
pub mod config;
mod deliver;
mod encode;
pub mod error;
mod plan;

pub use config::{Credentials, Settings};
pub use deliver::Sqs;
pub use error::Error;
