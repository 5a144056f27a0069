//! The retry timer: when rows that this worker deferred fall due, so that they are published then. Due times are
//! rounded up to ticks, so that many rows cause few queries; it covers only the near future, because a poller finds the
//! rest.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Rows that fall due within one tick share one query.
const TICK: Duration = Duration::from_millis(100);

/// Rows that fall due later than this are left to the poller.
const HORIZON: Duration = Duration::from_mins(1);

/// The ticks at which rows fall due.
#[derive(Debug)]
pub(crate) struct RetryTimer {
    began: Instant,
    /// Ticks since `began`.
    ticks: Mutex<BTreeSet<u128>>,
    added: Notify,
}

impl Default for RetryTimer {
    fn default() -> Self {
        Self { began: Instant::now(), ticks: Mutex::default(), added: Notify::new() }
    }
}

impl RetryTimer {
    fn ticks(&self) -> MutexGuard<'_, BTreeSet<u128>> {
        self.ticks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Schedules a tick for a row that falls due after this time; ignores times beyond [`HORIZON`].
    pub fn falls_due(&self, after: Duration) {
        if after > HORIZON {
            return;
        }
        // Round up to the next tick: a query must not run before the row is due.
        let tick = (self.began.elapsed() + after).as_millis() / TICK.as_millis() + 1;
        if self.ticks().insert(tick) {
            self.added.notify_one();
        }
    }

    /// Waits until the next scheduled tick.
    pub async fn next(&self) {
        loop {
            let first = self.ticks().first().copied();
            let Some(tick) = first else {
                self.added.notified().await;
                continue;
            };
            let at = self.began + TICK * u32::try_from(tick).unwrap_or(u32::MAX);
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(at) => {
                    self.ticks().remove(&tick);
                    return;
                }
                () = self.added.notified() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn j03_a_tick_comes_when_the_next_row_is_due_and_one_serves_many() {
        let (timer, began) = (RetryTimer::default(), Instant::now());
        timer.falls_due(Duration::from_secs(2));
        timer.falls_due(Duration::from_mins(30));
        for millis in [0, 3, 40] {
            timer.falls_due(Duration::from_millis(millis));
        }
        timer.next().await;
        assert!(began.elapsed() <= Duration::from_millis(100), "{:?}", began.elapsed());
        timer.next().await;
        let waited = began.elapsed();
        assert!(waited >= Duration::from_secs(2) && waited <= Duration::from_millis(2100), "{waited:?}");
        assert!(
            tokio::time::timeout(Duration::from_hours(1), timer.next()).await.is_err(),
            "what is far away is the poller's"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn j03_an_earlier_row_shortens_the_wait() {
        let (timer, began) = (RetryTimer::default(), Instant::now());
        timer.falls_due(Duration::from_secs(20));
        let later = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            timer.falls_due(Duration::ZERO);
        };
        tokio::join!(timer.next(), later);
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
}
