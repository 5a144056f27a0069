//! Measures how far the clocks of the databases are from this machine's, publishes the offsets and warns about them.
//!
//! The database's clock decides about rows, so a wrong clock here changes no row. But receivers compare the date of a
//! signature with their own clock, and log lines carry the time of this machine.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use postrider_seams::ClockOffset;
use tokio::time::timeout;

use crate::wiring::{StoreClock, Wiring};

const EVERY: Duration = Duration::from_secs(15);
/// Time limit of one measurement; a server that does not answer in time is measured again later.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Seconds of difference above which a warning is logged, and how often it is repeated.
const TOLERATED_SECONDS: i64 = 10;
const WARN_EVERY: u32 = 20;

/// Measures every store once, then repeatedly for as long as the process lives.
pub async fn watch(wiring: &Wiring) {
    for store in wiring.stores() {
        metrics::gauge!("postrider_clock_offset_seconds", "store" => store.to_owned()).set(0.0);
    }
    let monitored = wiring.store_clocks().into_iter().map(|(store, clock)| {
        let offset = wiring.clock(&store);
        MonitoredClock { store, clock, offset }
    });
    let monitored: Vec<MonitoredClock> = monitored.collect();
    join_all(monitored.iter().map(|one| one.measure(true))).await;
    for one in monitored {
        tokio::spawn(async move {
            for round in 1_u32.. {
                tokio::time::sleep(EVERY).await;
                one.measure(round.is_multiple_of(WARN_EVERY)).await;
            }
        });
    }
}

struct MonitoredClock {
    store: String,
    clock: StoreClock,
    offset: Arc<ClockOffset>,
}

impl MonitoredClock {
    /// Measures the offset; with `again`, logs a warning even if one was logged before.
    async fn measure(&self, again: bool) {
        let micros = match timeout(TIMEOUT, self.clock.offset()).await {
            Ok(Ok(micros)) => micros,
            // The store's lanes log that it is unavailable.
            Ok(Err(error)) => {
                return tracing::debug!(store = self.store, %error, "cannot read the clock");
            }
            Err(_) => return,
        };
        let seconds = to_seconds(micros);
        let known = self.offset.seconds();
        self.offset.set(seconds);
        let magnitude = Duration::from_micros(micros.unsigned_abs()).as_secs_f64();
        let ahead = if micros < 0 { -magnitude } else { magnitude };
        metrics::gauge!("postrider_clock_offset_seconds", "store" => self.store.clone()).set(ahead);
        if let Some(text) = warning(&self.store, seconds)
            && (again || known.abs() <= TOLERATED_SECONDS)
        {
            tracing::warn!(store = self.store, seconds, "{text}");
        }
    }
}

/// The warning about this difference; `None` while it is tolerated.
pub fn warning(store: &str, seconds: i64) -> Option<String> {
    let than = if seconds > 0 { "ahead of" } else { "behind" };
    (seconds.abs() > TOLERATED_SECONDS).then(|| {
        format!(
            "the clock of store `{store}` is {} s {than} this machine's; synchronise both with NTP, because signatures use the store's clock",
            seconds.abs()
        )
    })
}

/// Converts to whole seconds; 0 below one second, which may be only a slow answer.
fn to_seconds(micros: i64) -> i64 {
    (micros.signum() * (micros.abs() + 500_000)) / 1_000_000
}

/// Returns the difference of one store in whole seconds, for `check`; `None` if it cannot be measured.
pub async fn measure_offset(wiring: &Wiring, store: &str) -> Option<i64> {
    let (_, clock) = wiring.store_clocks().into_iter().find(|(name, _)| name == store)?;
    let micros = timeout(TIMEOUT, clock.offset()).await.ok()?.ok()?;
    Some(to_seconds(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_whole_seconds_and_warned_about_from_ten_on() {
        assert_eq!([400_000, -400_000, 600_000, -1_600_000].map(to_seconds), [0, 0, 1, -2]);
        assert_eq!((warning("main", 10), warning("main", -10)), (None, None));
        assert!(warning("main", 11).unwrap().contains("11 s ahead of this machine's"));
        assert!(warning("main", -600).unwrap().contains("600 s behind this machine's"));
    }
}
