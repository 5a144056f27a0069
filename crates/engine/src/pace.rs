//! How many envelopes to hand over at once: full batches to a fast target, few to a slow one.
//!
//! The rows of one call are settled together, so a long call leaves many delivered rows unsettled; should the worker die
//! then, all of them are delivered twice. A call is therefore sized to take about [`CALL`].

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What one call of the transport should take.
const CALL: Duration = Duration::from_millis(250);

/// A moving average of the time for one envelope, in nanoseconds; 0 before the first.
#[derive(Debug, Default)]
pub(crate) struct Pace(AtomicU64);

impl Pace {
    pub fn note(&self, took: Duration, envelopes: usize) {
        let each = nanos(took) / (envelopes.max(1) as u64);
        let before = self.0.load(Relaxed);
        // Lost updates between workers do no harm: it is an average.
        let after = if before == 0 { each } else { (before * 7 + each) / 8 };
        self.0.store(after.max(1), Relaxed);
    }

    /// The envelopes that one call should carry, at most `batch`.
    pub fn share(&self, batch: usize) -> usize {
        match self.0.load(Relaxed) {
            // Nothing is known yet: a crash would be counted against all rows of a call, tried or not.
            0 => 1,
            each => usize::try_from(nanos(CALL) / each).unwrap_or(usize::MAX).clamp(1, batch.max(1)),
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 8)
}

#[cfg(test)]
mod tests;
