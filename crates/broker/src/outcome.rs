//! Outcomes in few words.

use std::time::Duration;

use postrider_seams::{Content, Envelope, Failure, Outcome, Record};

/// Characters of a reason: brokers may quote what they were sent (rule G7).
const REASON_LIMIT: usize = 300;
/// How long a row waits when this machine has run out of something.
const EXHAUSTED_WAIT: Duration = Duration::from_secs(5);

/// The record in an envelope, or why there is none.
pub fn record(envelope: &Envelope) -> Result<&Record, Outcome> {
    match &envelope.content {
        Content::Record(record) => Ok(record),
        _ => Err(rejected("a broker takes records, and this row is none")),
    }
}

pub fn rejected(reason: impl Into<String>) -> Outcome {
    Outcome::Rejected(Failure::new(shorten(reason.into())))
}

/// It may have been taken, and nobody can tell.
pub fn uncertain(reason: impl Into<String>) -> Outcome {
    Outcome::Uncertain(Failure::new(shorten(reason.into())))
}

/// It can't have been taken: there was no connection.
pub fn unreachable(reason: impl Into<String>) -> Outcome {
    Outcome::Retryable(Failure { unreachable: true, ..Failure::new(shorten(reason.into())) })
}

/// It was not tried, because this machine has no descriptors, memory or local ports left: it waits, and it costs nothing.
pub fn exhausted(reason: impl Into<String>) -> Outcome {
    let failure = Failure::new(shorten(format!("not tried: {}", reason.into())));
    Outcome::Deferred(Failure { after: Some(EXHAUSTED_WAIT), ..failure })
}

/// A reason that fits a column: one line, not too long.
pub fn shorten(reason: String) -> String {
    let mut reason = if reason.contains(['\r', '\n']) { reason.replace(['\r', '\n'], " ") } else { reason };
    if let Some((end, _)) = reason.char_indices().nth(REASON_LIMIT) {
        reason.replace_range(end.., "…");
    }
    reason
}
