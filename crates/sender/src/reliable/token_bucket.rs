//! A token bucket: a rate per second, with a burst of one second's tokens.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Limits the rate of one sender. A caller that takes a token gets the time at which it may use it; future tokens are
/// assigned in order.
#[derive(Debug)]
pub(super) struct TokenBucket {
    each: Duration,
    burst: Duration,
    /// Time at which the next token would be available if the bucket had been empty.
    next: Mutex<Option<Instant>>,
}

impl TokenBucket {
    /// Creates a full bucket; `rate` is in tokens per second and above zero.
    pub fn new(rate: f64) -> Self {
        let each = Duration::from_secs_f64(1.0 / rate);
        Self { each, burst: Duration::from_secs(1).saturating_sub(each), next: Mutex::default() }
    }

    /// Takes a token and returns when it may be used; returns `None` and takes none if that is after `latest`.
    pub fn take(&self, now: Instant, latest: Instant) -> Option<Instant> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let full = now.checked_sub(self.burst).unwrap_or(now);
        let at = next.map_or(full, |next| next.max(full));
        let usable = at.max(now);
        if usable > latest {
            return None;
        }
        *next = Some(at + self.each);
        Some(usable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn n09_a_second_holds_no_more_than_the_rate() {
        tokio::time::advance(Duration::from_mins(1)).await;
        let (bucket, start) = (TokenBucket::new(5.0), Instant::now());
        let far = start + Duration::from_mins(1);
        let at: Vec<u128> = (0..15).map(|_| (bucket.take(start, far).unwrap() - start).as_millis()).collect();
        assert_eq!(at[..5], [0; 5], "a second's worth at once");
        assert_eq!(at[5..], [200, 400, 600, 800, 1000, 1200, 1400, 1600, 1800, 2000]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_that_comes_too_late_is_not_taken() {
        let (bucket, start) = (TokenBucket::new(1.0), Instant::now());
        assert_eq!(bucket.take(start, start), Some(start));
        assert_eq!(bucket.take(start, start + Duration::from_millis(999)), None);
        assert_eq!(bucket.take(start, start + Duration::from_secs(1)), Some(start + Duration::from_secs(1)));
    }
}
