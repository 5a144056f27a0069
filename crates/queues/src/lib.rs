//! External queues: carry pointers to rows from producers to the workers that claim the rows.
//!
//! Owns the encoding of a pointer, and receiving and acknowledging at each broker. Must not claim rows or decide
//! anything about them. The brokers' transports publish, with their connections, TLS settings and confirms.
//!
//! Invariant: a pointer holds the key of a row and nothing else. Any other message on a queue counts as unreadable; it
//! is never an error.

#[cfg(feature = "amqp")]
mod amqp;
mod monitored;
mod name;
#[cfg(feature = "nats")]
mod nats;
mod pointer;
mod publish;
#[cfg(feature = "sqs")]
mod sqs;

#[cfg(feature = "amqp")]
pub use amqp::AmqpQueue;
pub use monitored::MonitoredQueue;
#[cfg(feature = "nats")]
pub use nats::{NatsNames, NatsQueue};
#[cfg(feature = "sqs")]
pub use sqs::SqsQueue;

use std::time::Duration;

use postrider_seams::queue::Error;
use postrider_seams::transport;

/// Longest time that a receive waits for a first pointer.
#[cfg(any(feature = "amqp", feature = "nats"))]
const RECEIVE_WAIT: Duration = Duration::from_secs(1);

/// Time limit of every other call to a broker.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Largest number of pointers that are fetched ahead of their claim.
#[cfg(any(feature = "amqp", feature = "nats"))]
const PREFETCH: u16 = 500;

/// Converts an error of a broker's transport into an error of its queue.
fn from_transport(error: impl Into<transport::Error>) -> Error {
    match error.into() {
        transport::Error::Unreachable(reason) => Error::Unavailable(reason),
        transport::Error::Refused(reason) => Error::Refused(reason),
    }
}
