//! Counts records that a broker does not acknowledge (rule O2).
//!
//! A broker may hang while its connections stay open, and even while it answers probes. So two things are counted:
//! consecutive calls without an acknowledgement, after which the broker counts as away; and the rows that were not
//! acknowledged. The first time costs a row no attempt. The second time counts as an attempt if the broker has
//! acknowledged other rows in between: then the broker is up, and only this row gets no answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use postrider_seams::{Envelope, Outcome};

/// The number of consecutive calls without an acknowledgement after which the broker counts as away, even if its probe
/// succeeds.
const SILENT_CALLS: u32 = 3;

/// Delay before a row that was not acknowledged is tried again. Longer than the prober waits between two trials, so
/// that the next trial uses another row.
pub(crate) const UNACKED_RETRY_DELAY: Duration = Duration::from_secs(15);

/// The most rows remembered. Each was in a call that was in flight when the broker fell silent, so there are few.
const MOST_ROWS: usize = 10_000;

/// The unacknowledged calls and rows of one lane.
#[derive(Debug, Default)]
pub(crate) struct MissingAcks {
    calls: AtomicU32,
    rows: Mutex<Rows>,
}

#[derive(Debug, Default)]
struct Rows {
    /// Calls in which something was acknowledged.
    answered: u64,
    /// Rows that were not acknowledged, each with the value of `answered` at that time.
    unanswered: HashMap<String, u64>,
}

impl MissingAcks {
    /// Counts one call: an acknowledgement resets the silence, an uncertain outcome without one extends it.
    pub fn note(&self, envelopes: &[Envelope], outcomes: &[Outcome]) {
        let is_delivered = |outcome: &Outcome| matches!(outcome, Outcome::Delivered(_));
        if outcomes.iter().any(is_delivered) {
            self.calls.store(0, Relaxed);
            let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
            rows.answered += 1;
            if !rows.unanswered.is_empty() {
                for (envelope, _) in
                    envelopes.iter().zip(outcomes).filter(|(_, outcome)| is_delivered(outcome))
                {
                    rows.unanswered.remove(&envelope.row);
                }
            }
        } else if outcomes.iter().any(|outcome| matches!(outcome, Outcome::Uncertain(_))) {
            self.calls.fetch_add(1, Relaxed);
        }
    }

    /// Whether the broker acknowledges nothing any more.
    pub fn is_silent(&self) -> bool {
        self.calls.load(Relaxed) >= SILENT_CALLS
    }

    /// Records that a row was not acknowledged; returns whether that counts as an attempt.
    pub fn is_attempt(&self, row: &str) -> bool {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.unanswered.len() >= MOST_ROWS {
            rows.unanswered.clear();
        }
        let answered = rows.answered;
        rows.unanswered.insert(row.to_owned(), answered).is_some_and(|before| before < answered)
    }
}
