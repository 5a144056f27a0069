//! Expected numbers of every contract, from its specification. They are never read from the contract under test.

use std::time::Duration;

use postrider_contract::{ColumnRole, Transition};

use crate::subject::Subject;

/// The expected numbers of one contract.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    contract: &'static str,
    /// Maximum number of attempts, including the first.
    pub tries: u32,
    /// Seconds before the second attempt, the third, … without jitter.
    pub delays: &'static [u64],
    pub counts: CountedEvents,
    /// Whether an expired lease costs an attempt.
    pub recovery_counts: bool,
    /// A message column that accepts a large text.
    pub large: Option<&'static str>,
}

/// The events that increment the attempt counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedEvents {
    Retry,
    Failure,
    CompletedAttempt,
}

const ALL: [Expected; 5] = [
    Expected {
        contract: "mail_outbox",
        tries: 5,
        delays: &[60, 120, 240, 480],
        counts: CountedEvents::Failure,
        recovery_counts: true,
        large: Some("body_text"),
    },
    Expected {
        contract: "dispatch_jobs",
        tries: 3,
        delays: &[30, 60],
        counts: CountedEvents::CompletedAttempt,
        recovery_counts: true,
        large: Some("payload"),
    },
    Expected {
        contract: "open_event_notifications",
        tries: 3,
        delays: &[0, 2],
        counts: CountedEvents::CompletedAttempt,
        recovery_counts: false,
        large: None,
    },
    Expected {
        contract: "emails",
        tries: 5,
        delays: &[30, 60, 120, 240],
        counts: CountedEvents::Failure,
        recovery_counts: true,
        large: None,
    },
    Expected {
        contract: "outbox",
        tries: 3,
        delays: &[1, 2],
        counts: CountedEvents::Retry,
        recovery_counts: true,
        large: Some("payload"),
    },
];

impl Expected {
    /// Returns the expected numbers of the subject's contract. Panics if they are not listed here.
    pub fn of(subject: &Subject) -> Self {
        let found = ALL.into_iter().find(|known| known.contract == subject.contract.name);
        found.expect("every contract has its figures here")
    }

    /// Whether a claim that ends with this transition increments the counter.
    pub fn counts(&self, transition: Transition) -> bool {
        use Transition::{Dead, Delivered, Rejected, Retry, Skipped};
        match self.counts {
            CountedEvents::Retry => transition == Retry,
            CountedEvents::Failure => matches!(transition, Retry | Dead | Rejected | Skipped),
            CountedEvents::CompletedAttempt => {
                matches!(transition, Retry | Dead | Rejected | Skipped | Delivered)
            }
        }
    }

    /// Returns the value of the counter after the last attempt has failed.
    pub fn spent(&self) -> u32 {
        if self.counts == CountedEvents::Retry { self.tries - 1 } else { self.tries }
    }

    /// Whether the stage writes the error column. A callback keeps the error that says why a mail failed, or who
    /// refused it.
    pub fn writes_error(subject: &Subject) -> bool {
        subject.has(ColumnRole::Error) && !subject.name().ends_with("_callback")
    }

    /// Returns the delay after the n-th failure, from 1.
    pub fn delay(&self, failure: u32) -> Duration {
        Duration::from_secs(self.delays[failure as usize - 1])
    }
}
