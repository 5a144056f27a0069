//! What came of one envelope. A failed delivery is an outcome, never an error.

use std::time::Duration;

use postrider_contract::{Got, Verdict};

use crate::row::Detail;

/// What happened to one envelope, and nothing about what to do next: that is the contract's to decide.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Delivered(Receipt),
    /// Failed for now.
    Retryable(Failure),
    /// Failed for good: the message or the address is the cause.
    Rejected(Failure),
    /// Nobody can act on it.
    Skipped(Failure),
    /// Never tried: costs nothing.
    Deferred(Failure),
    /// The relay refuses us, not the row: the lane pauses (rule G3).
    Refused(Failure),
    /// Sent, no answer: the contract decides.
    Uncertain(Failure),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Receipt {
    /// The id under which the target knows it.
    pub id: Option<String>,
    pub detail: Detail,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Failure {
    /// For operators: compact, no secret in it.
    pub reason: String,
    /// "Not before", as the target asked.
    pub after: Option<Duration>,
    /// No connection could be had, or it broke before the target had anything: if the target is away, this costs the row
    /// nothing, and after a few in a row the lane stops claiming (rule G1).
    pub unreachable: bool,
    /// Some recipients have it already, from this attempt or an earlier one.
    pub partly: bool,
    /// Some recipients accepted it in this very attempt: it can't be handed back as if nothing had been sent, and must not go
    /// through another sender before the row knows who has it.
    pub accepted_now: bool,
    pub detail: Detail,
}

impl Failure {
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), ..Self::default() }
    }
}

impl Outcome {
    pub fn verdict(&self) -> Verdict {
        let got = match self {
            Self::Delivered(_) => Got::Delivered,
            Self::Retryable(_) => Got::Retryable,
            Self::Rejected(_) => Got::Rejected,
            Self::Skipped(_) => Got::Skipped,
            Self::Deferred(_) => Got::Deferred,
            Self::Refused(_) => Got::Refused,
            Self::Uncertain(_) => Got::Uncertain,
        };
        let failure = self.failure();
        Verdict {
            got,
            after: failure.and_then(|failure| failure.after),
            partly: failure.is_some_and(|failure| failure.partly),
        }
    }

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
