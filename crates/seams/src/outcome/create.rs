//! Short constructors of outcomes, for transports that send records.

use std::time::Duration;

use super::{Failure, Outcome};
use crate::envelope::{Content, Envelope, Record};

/// Maximum characters of a reason: brokers may quote what they received (rule G7).
const REASON_LIMIT: usize = 300;
/// Wait of a row when this machine has run out of a resource.
const EXHAUSTED_WAIT: Duration = Duration::from_secs(5);

/// Returns the record in an envelope; the error is the outcome of one without a record.
pub fn record(envelope: &Envelope) -> Result<&Record, Outcome> {
    match &envelope.content {
        Content::Record(record) => Ok(record),
        _ => Err(rejected("not a record: this transport sends only records")),
    }
}

/// Returns `Rejected`: the record fails permanently.
pub fn rejected(reason: impl Into<String>) -> Outcome {
    Outcome::Rejected(Failure::new(shorten(reason.into())))
}

/// Returns `Uncertain`: the record may or may not have been accepted.
pub fn uncertain(reason: impl Into<String>) -> Outcome {
    Outcome::Uncertain(Failure::new(shorten(reason.into())))
}

/// Returns the outcome of a record that was not sent for lack of a connection.
pub fn unreachable(reason: impl Into<String>) -> Outcome {
    Outcome::Retryable(Failure { unreachable: true, ..Failure::new(shorten(reason.into())) })
}

/// Returns the outcome of a record that was not attempted because this machine has no descriptors, memory or local
/// ports left: it waits, at no cost.
pub fn exhausted(reason: impl Into<String>) -> Outcome {
    let failure = Failure::new(shorten(format!("not tried: {}", reason.into())));
    Outcome::Deferred(Failure { after: Some(EXHAUSTED_WAIT), ..failure })
}

/// Shortens a reason so that it fits a column, on one line.
pub fn shorten(reason: String) -> String {
    let mut reason = if reason.contains(['\r', '\n']) { reason.replace(['\r', '\n'], " ") } else { reason };
    if let Some((end, _)) = reason.char_indices().nth(REASON_LIMIT) {
        reason.replace_range(end.., "…");
    }
    reason
}
