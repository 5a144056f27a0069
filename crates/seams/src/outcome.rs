//! Outcome: the result of one envelope. A failed delivery is an outcome, never an error.

mod create;
mod scrub;

use std::time::Duration;

use postrider_contract::{AttemptResult, ResultKind};

use crate::row::Detail;

pub use create::{exhausted, record, rejected, shorten, uncertain, unreachable};

/// The result of one envelope. It does not say what to do next: the contract decides that.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Delivered(Receipt),
    /// Failed temporarily.
    Retryable(Failure),
    /// Failed permanently: the message or the address is the cause.
    Rejected(Failure),
    /// Not sent, and there is nothing that an operator could do.
    Skipped(Failure),
    /// Not tried, or interrupted after some recipients had accepted the mail: costs no attempt.
    Deferred(Failure),
    /// The target refuses our credentials, not the row: the lane pauses (rule G3).
    Refused(Failure),
    /// Sent, but not answered: the contract decides.
    Uncertain(Failure),
}

/// The confirmation of a delivered envelope.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Receipt {
    /// The target's id of the message.
    pub id: Option<String>,
    pub detail: Detail,
}

/// The details of an envelope that was not delivered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Failure {
    /// The reason for operators: compact, without secrets.
    pub reason: String,
    /// The minimum delay before the next attempt, as requested by the target.
    pub after: Option<Duration>,
    /// Whether no connection could be made, or it broke before the target received anything: if the target is away,
    /// this costs the row no attempt, and after a few such failures in a row the lane stops claiming (rule G1).
    pub unreachable: bool,
    /// Whether some recipients have the mail already, from this attempt or an earlier one.
    pub partly_accepted: bool,
    /// Whether some recipients accepted the mail in this very attempt: it cannot be handed back as if nothing had been
    /// sent, and must not be sent through another sender before the row records who has it. A `Deferred` mail costs
    /// nothing then either, but its results are recorded.
    pub accepted_now: bool,
    pub detail: Detail,
}

impl Failure {
    /// Creates a failure with this reason and nothing else set.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), ..Self::default() }
    }
}

impl Outcome {
    /// Returns the part of the outcome on which the contract decides.
    pub fn attempt_result(&self) -> AttemptResult {
        let kind = match self {
            Self::Delivered(_) => ResultKind::Delivered,
            Self::Retryable(_) => ResultKind::Retryable,
            Self::Rejected(_) => ResultKind::Rejected,
            Self::Skipped(_) => ResultKind::Skipped,
            Self::Deferred(_) => ResultKind::Deferred,
            Self::Refused(_) => ResultKind::Refused,
            Self::Uncertain(_) => ResultKind::Uncertain,
        };
        let failure = self.failure();
        AttemptResult {
            kind,
            after: failure.and_then(|failure| failure.after),
            partly_accepted: failure.is_some_and(|failure| failure.partly_accepted),
        }
    }

    /// Returns the failure for changes; `None` if delivered.
    pub fn failure_mut(&mut self) -> Option<&mut Failure> {
        match self {
            Self::Delivered(_) => None,
            Self::Retryable(failure)
            | Self::Rejected(failure)
            | Self::Skipped(failure)
            | Self::Deferred(failure)
            | Self::Refused(failure)
            | Self::Uncertain(failure) => Some(failure),
        }
    }

    /// Returns the failure; `None` if delivered.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Delivered(_) => None,
            Self::Retryable(failure)
            | Self::Rejected(failure)
            | Self::Skipped(failure)
            | Self::Deferred(failure)
            | Self::Refused(failure)
            | Self::Uncertain(failure) => Some(failure),
        }
    }
}
