//! SQS transport: sends records to queues in batches of ten and returns an outcome for each.
//!
//! Owns: the client, the addresses of queues, and the reading of answers. Must not: create queues, retry, or know a
//! contract.
//!
//! Invariant: a record is delivered when SQS has answered with its message id. In a FIFO queue (`….fifo`) a group has
//! one record in flight at a time, and a failed one holds back the rest of its group: SQS may refuse a single entry
//! of a batch.
//!
//! A topic is the name of a queue, or its URL. The key is the group of a FIFO queue; each record without one is its
//! own group. All deliveries of one row have the same deduplication id.

pub mod classify;
pub mod client;
pub mod config;
mod deliver;
mod encode;
pub mod error;
mod request_plan;

pub use config::{Credentials, Settings};
pub use deliver::Sqs;
pub use error::Error;
