//! The error of a connection to a broker, and the outcome or probe error that it means.

use crate::outcome::{exhausted, shorten, unreachable};
use crate::{Failure, Outcome, transport};

/// The reason why there is no connection or channel to publish on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectError {
    Unreachable(String),
    /// This machine has no descriptors, memory or threads left: no connection was attempted.
    Exhausted(String),
    /// The broker refuses us: an operator must act.
    Refused(String),
}

impl From<ConnectError> for Outcome {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Unreachable(reason) => unreachable(reason),
            ConnectError::Exhausted(reason) => exhausted(reason),
            ConnectError::Refused(reason) => Self::Refused(Failure::new(shorten(reason))),
        }
    }
}

impl From<ConnectError> for transport::Error {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Unreachable(reason) | ConnectError::Exhausted(reason) => Self::Unreachable(reason),
            ConnectError::Refused(reason) => Self::Refused(reason),
        }
    }
}
