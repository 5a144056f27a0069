//! External queues: hand pointers to rows from those who make them to those who claim them.
//!
//! Owns: what a pointer looks like on the wire, receiving and acknowledging at each broker, and what a producer does when
//! the queue refuses. Must not: claim rows or decide anything about them. Publishing is done by the brokers' own
//! transports: their connections, their TLS, their confirms.
//!
//! Invariant: a pointer holds the key of a row and nothing else; whatever else is found on a queue is unreadable, never an
//! error.

mod amqp;
mod handing;
mod name;
mod nats;
mod pointer;
mod publish;
mod sqs;
mod watched;

pub use amqp::AmqpQueue;
pub use handing::Handed;
pub use nats::{NatsNames, NatsQueue};
pub use sqs::SqsQueue;
pub use watched::Watched;

use std::time::Duration;

use postrider_seams::queue::Error;
use postrider_seams::transport;

/// How long a queue waits for an acknowledgement before a pointer goes to another, unless it is told otherwise.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// How long a receive waits for a first pointer.
const IDLE: Duration = Duration::from_secs(1);

/// How long any other question to a broker may take.
const ANSWER: Duration = Duration::from_secs(10);

/// The most pointers that are fetched ahead of their claim.
const AHEAD: u16 = 500;

/// What a broker's own fault means for its queue.
fn fault(fault: impl Into<transport::Error>) -> Error {
    match fault.into() {
        transport::Error::Unreachable(reason) => Error::Away(reason),
        transport::Error::Refused(reason) => Error::Refused(reason),
    }
}
