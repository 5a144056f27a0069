//! Call size: how many envelopes one transport call carries; full batches for a fast target, few for a slow one.
//!
//! The rows of one call are settled together, so during a long call many delivered rows are unsettled; if the worker
//! dies then, all of them are delivered twice. A call is therefore sized to take about [`CALL`].

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The target duration of one transport call.
const CALL: Duration = Duration::from_millis(250);

/// A moving average of the time per envelope, in nanoseconds; 0 before the first call.
#[derive(Debug, Default)]
pub(crate) struct Pace(AtomicU64);

impl Pace {
    /// Adds the duration of one call with this many envelopes to the average.
    pub fn note(&self, took: Duration, envelopes: usize) {
        let each = nanos(took) / (envelopes.max(1) as u64);
        let before = self.0.load(Relaxed);
        // Lost updates between workers are harmless: this is an average.
        let after = if before == 0 { each } else { (before * 7 + each) / 8 };
        self.0.store(after.max(1), Relaxed);
    }

    /// Returns how many envelopes one call should carry, at most `batch`.
    pub fn share(&self, batch: usize) -> usize {
        match self.0.load(Relaxed) {
            // No measurement yet: a crash would be counted against all rows of a call, tried or not.
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
