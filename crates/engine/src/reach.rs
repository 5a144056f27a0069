//! Claim size: how many rows one claim requests; the lane's batch, and more while deliveries keep up with full claims.
//!
//! A claim costs round trips and a commit, however few rows it returns. If a full claim finds that no rows wait any
//! more, claims were the bottleneck, and the next one requests twice as many. With a slow target this does not happen:
//! its rows wait, so the lane holds few of them and leaves the rest to other workers.
//!
//! Invariant: the size is between `batch` and `stretch`; the limit of rows held grows with it, never beyond the lane's
//! limit.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::lane::Limits;

/// The number of claims whose rows may be held at once, until the claim size is at its maximum.
const CLAIMS: u64 = 4;

/// The current claim size, in rows.
#[derive(Debug)]
pub(crate) struct Reach(AtomicU32);

impl Reach {
    /// Starts with the lane's batch.
    pub fn new(limits: &Limits) -> Self {
        Self(AtomicU32::new(limits.batch.max(1)))
    }

    /// Returns how many rows the next claim requests.
    pub fn rows(&self) -> u32 {
        self.0.load(Relaxed)
    }

    /// Returns how many rows may be held with claims of this size.
    pub fn held(&self, limits: &Limits) -> u64 {
        let (rows, held) = (self.rows(), limits.held as u64);
        if rows >= limits.stretch { held } else { held.min(CLAIMS * u64::from(rows)) }
    }

    /// Adapts the size after a full claim, given the rows still waiting. Lost updates between claimers are harmless.
    pub fn came_full(&self, limits: &Limits, waiting: usize) {
        let now = self.rows();
        let next = match waiting {
            0 => now.saturating_mul(2),
            many if many >= now as usize => now / 2,
            _ => now,
        };
        let least = limits.batch.max(1);
        self.0.store(next.clamp(least, limits.stretch.max(least)), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn limits(batch: u32, stretch: u32, held: usize) -> Limits {
        Limits {
            concurrency: 4,
            batch,
            stretch,
            held,
            bytes: 1 << 20,
            timeout: Duration::from_secs(1),
            poll: Duration::from_secs(1),
            sweep: Duration::from_secs(1),
            single: false,
        }
    }

    #[test]
    fn o3_full_claims_grow_while_nothing_waits_and_shrink_when_much_does() {
        let limits = limits(50, 500, 2000);
        let reach = Reach::new(&limits);
        assert_eq!((reach.rows(), reach.held(&limits)), (50, 200));
        for expected in [100, 200, 400, 500, 500] {
            reach.came_full(&limits, 0);
            assert_eq!(reach.rows(), expected);
        }
        assert_eq!(reach.held(&limits), 2000);
        reach.came_full(&limits, 100);
        assert_eq!(reach.rows(), 500, "some that wait keep deliveries busy");
        for expected in [250, 125, 62, 50, 50] {
            reach.came_full(&limits, 5000);
            assert_eq!(reach.rows(), expected);
        }
    }

    #[test]
    fn a_batch_that_was_chosen_stays() {
        let limits = limits(20, 20, 40);
        let reach = Reach::new(&limits);
        reach.came_full(&limits, 0);
        assert_eq!((reach.rows(), reach.held(&limits)), (20, 40));
    }

    #[test]
    fn a_limit_that_was_chosen_is_never_passed() {
        let limits = limits(50, 500, 100);
        let reach = Reach::new(&limits);
        for _ in 0..5 {
            assert_eq!(reach.held(&limits), 100);
            reach.came_full(&limits, 0);
        }
    }
}
