//! Records that a broker does not acknowledge (rule O2).
//!
//! A broker may hang while its connections stay open, and even while it answers probes. So two things are counted: calls
//! in a row without one acknowledgement, after which the broker counts as away; and the rows that went without one. The
//! first time costs a row nothing. The second time is an attempt, if the broker has acknowledged others in between: then
//! it is there, and this row is what it does not answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use postrider_seams::{Envelope, Outcome};

/// So many calls in a row without one acknowledgement mean that the broker is away, whatever its probe answers.
const SILENT_CALLS: u32 = 3;

/// How long a row waits that was not acknowledged. Longer than the prober waits between two trials, so that the next
/// trial is made with another row.
pub(crate) const LATER: Duration = Duration::from_secs(15);

/// Rows that are remembered. Each is of a call that was under way when the broker fell silent, so they are few.
const MOST_ROWS: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Silence {
    calls: AtomicU32,
    rows: Mutex<Rows>,
}

#[derive(Debug, Default)]
struct Rows {
    /// Calls of which something was acknowledged.
    answered: u64,
    /// Rows that were not acknowledged, each with `answered` as it was then.
    unanswered: HashMap<String, u64>,
}

impl Silence {
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

    /// Does the broker acknowledge nothing any more?
    pub fn is_silent(&self) -> bool {
        self.calls.load(Relaxed) >= SILENT_CALLS
    }

    /// A row was not acknowledged: is that an attempt?
    pub fn is_attempt(&self, row: &str) -> bool {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.unanswered.len() >= MOST_ROWS {
            rows.unanswered.clear();
        }
        let answered = rows.answered;
        rows.unanswered.insert(row.to_owned(), answered).is_some_and(|before| before < answered)
    }
}
