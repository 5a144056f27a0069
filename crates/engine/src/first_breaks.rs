//! Remembers the rows whose connection broke although the target is up (rule G1).
//!
//! A target that is restarted breaks connections and answers the next probe. So the first break of a row costs no
//! attempt; each further one does, until the row is delivered: the attempts limit a row that breaks every connection,
//! and a target that breaks all of them.
//!
//! Invariant: bounded, and a row that is not remembered for want of room is charged, so that no row is retried forever.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Delay before a row whose connection broke for the first time is tried again: most restarts are over by then.
pub(crate) const AFTER_BREAK: Duration = Duration::from_secs(5);

/// The most rows remembered.
const MOST_ROWS: usize = 10_000;

/// Time after which a row may be forgotten to make room: another worker has delivered it, or it is gone. Much longer
/// than the time to the next try after a free break, so that a row cannot be forgotten between the two.
const FORGET_AFTER: Duration = Duration::from_hours(24);

/// The rows of one lane whose connection broke, each with the time of the last break.
#[derive(Debug, Default)]
pub(crate) struct FirstBreaks(Mutex<HashMap<String, Instant>>);

impl FirstBreaks {
    /// Records a break; returns whether it counts as an attempt.
    pub fn is_attempt(&self, row: &str) -> bool {
        let now = Instant::now();
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = rows.get_mut(row) {
            *last = now;
            return true;
        }
        if rows.len() >= MOST_ROWS {
            rows.retain(|_, last| now.duration_since(*last) < FORGET_AFTER);
        }
        if rows.len() >= MOST_ROWS {
            return true;
        }
        rows.insert(row.to_owned(), now);
        false
    }

    /// Forgets a row that has ended.
    pub fn forget(&self, row: &str) {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !rows.is_empty() {
            rows.remove(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn g01_rows_beyond_the_bound_are_charged_until_old_ones_are_forgotten() {
        let breaks = FirstBreaks::default();
        for row in 0..MOST_ROWS {
            assert!(!breaks.is_attempt(&row.to_string()));
        }
        assert!(breaks.is_attempt("one more") && breaks.is_attempt("0"));
        tokio::time::advance(FORGET_AFTER).await;
        assert!(breaks.is_attempt("0") && !breaks.is_attempt("one more"));
        assert_eq!(breaks.0.lock().unwrap().len(), 2, "those that broke since then are remembered");
    }

    #[test]
    fn g01_a_row_that_was_delivered_starts_afresh() {
        let breaks = FirstBreaks::default();
        assert!(!breaks.is_attempt("1") && breaks.is_attempt("1"));
        breaks.forget("1");
        assert!(!breaks.is_attempt("1"));
    }
}
