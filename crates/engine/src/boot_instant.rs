//! The clock of leases: it continues while the machine is suspended.
//!
//! tokio's clock (`CLOCK_MONOTONIC`) stands still while a virtual machine or a laptop is suspended, and the database's
//! does not. A worker that resumes would take leases that ran out long ago for fresh ones. On Linux, `CLOCK_BOOTTIME`
//! shows how long the machine was suspended; elsewhere only tokio's clock is read.

use std::ops::Add;
use std::time::Duration;

use tokio::time::Instant;

/// Differences up to this come from reading two clocks one after the other, in milliseconds.
const JITTER: i64 = 100;

/// A point in time by tokio's clock, and for how long the machine had been suspended by then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BootInstant {
    awake: Instant,
    /// In milliseconds since the machine was started.
    suspended: i64,
}

impl BootInstant {
    /// Returns the present time.
    pub fn now() -> Self {
        Self { awake: Instant::now(), suspended: suspended() }
    }

    /// Returns the time since then.
    pub fn elapsed(self) -> Duration {
        self.awake.elapsed() + self.suspended_since()
    }

    /// Returns the time until then; zero if it is past.
    pub fn left(self) -> Duration {
        self.awake.saturating_duration_since(Instant::now()).saturating_sub(self.suspended_since())
    }

    fn suspended_since(self) -> Duration {
        let since = suspended() - self.suspended;
        if since > JITTER { Duration::from_millis(since.unsigned_abs()) } else { Duration::ZERO }
    }

    /// Returns the present time as it looks after the machine was suspended for `length`.
    #[cfg(test)]
    pub fn before_a_suspension(length: Duration) -> Self {
        let length = i64::try_from(length.as_millis()).expect("a short time");
        Self { suspended: suspended() - length, ..Self::now() }
    }
}

impl Add<Duration> for BootInstant {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self { awake: self.awake + time, ..self }
    }
}

/// Returns for how long the machine has been suspended since it was started, in milliseconds.
#[cfg(target_os = "linux")]
fn suspended() -> i64 {
    use rustix::time::{ClockId, clock_gettime};
    let millis = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    };
    millis(ClockId::Boottime) - millis(ClockId::Monotonic)
}

#[cfg(not(target_os = "linux"))]
fn suspended() -> i64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    #[tokio::test(start_paused = true)]
    async fn time_passes_while_the_machine_is_suspended() {
        let minute = Duration::from_mins(1);
        let before = BootInstant::now();
        tokio::time::advance(minute).await;
        assert_eq!((before.elapsed(), (before + HOUR).left()), (minute, Duration::from_mins(59)));
        let before = BootInstant::before_a_suspension(HOUR);
        assert!(before.elapsed() >= HOUR);
        assert_eq!((before + minute).left(), Duration::ZERO);
        assert!((before + 2 * HOUR).left() <= HOUR);
    }
}
