//! Errors of the settings and of channels.

/// Invalid settings: all mistakes at once, without secrets.
pub use postrider_broker::Mistakes as Error;
use postrider_broker::{exhausted, shorten, unreachable};
use postrider_seams::{Failure, Outcome, transport};

pub(crate) const BROKER: &str = "AMQP";

/// The reason why there is no channel to publish on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    Unreachable(String),
    /// This machine has no descriptors, memory or threads left: no connection was attempted.
    Exhausted(String),
    /// The broker refuses us: an operator must act.
    Refused(String),
}

impl From<Fault> for Outcome {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Unreachable(reason) => unreachable(reason),
            Fault::Exhausted(reason) => exhausted(reason),
            Fault::Refused(reason) => Self::Refused(Failure::new(shorten(reason))),
        }
    }
}

impl From<Fault> for transport::Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Unreachable(reason) | Fault::Exhausted(reason) => Self::Unreachable(reason),
            Fault::Refused(reason) => Self::Refused(reason),
        }
    }
}
