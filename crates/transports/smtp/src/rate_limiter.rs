//! The sending rate: a token bucket for the relay's limit, and a throttle for when the relay is overloaded.
//!
//! The throttle halves rate and connections when the relay reports a shortage, and recovers slowly.
//! Must not: lose a mail; it only decides when mails are sent.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

#[cfg(test)]
mod tests;

/// Connections get replies at the same time: refusals within this time count as one.
const REFUSAL_WINDOW: Duration = Duration::from_secs(5);
/// Time from the lowest rate back to the full one.
const RECOVERY_TIME: Duration = Duration::from_mins(2);
/// Lowest fraction of the full rate.
const MIN_SPEED: f64 = 1.0 / 16.0;

pub(crate) struct RateLimiter {
    rate: Option<f64>,
    state: Mutex<LimiterState>,
}

struct LimiterState {
    /// Time of the last throttling, and the fraction of the full rate that it left.
    throttled: Option<(Instant, f64)>,
    tokens: f64,
    filled: Instant,
}

impl LimiterState {
    fn speed(&self, now: Instant) -> f64 {
        self.throttled.map_or(1.0, |(at, left)| {
            let recovered = now.saturating_duration_since(at).as_secs_f64() / RECOVERY_TIME.as_secs_f64();
            (left + recovered).min(1.0)
        })
    }
}

impl RateLimiter {
    pub(crate) fn new(rate: Option<u32>, now: Instant) -> Self {
        let rate = rate.map(f64::from);
        Self {
            rate,
            state: Mutex::new(LimiterState { throttled: None, tokens: rate.map_or(0.0, burst), filled: now }),
        }
    }

    /// Throttles after the relay asked for less.
    pub(crate) fn slow_down(&self, now: Instant) {
        let mut state = self.lock();
        if state.throttled.is_some_and(|(at, _)| now.saturating_duration_since(at) < REFUSAL_WINDOW) {
            return;
        }
        let left = (state.speed(now) / 2.0).max(MIN_SPEED);
        state.throttled = Some((now, left));
    }

    /// Returns how many of `connections` may be in use now; at least one.
    pub(crate) fn connections(&self, connections: usize, now: Instant) -> usize {
        let speed = self.lock().speed(now);
        if speed >= 1.0 {
            return connections;
        }
        // The cast is of a small positive number.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "small"
        )]
        let allowed = (connections as f64 * speed) as usize;
        allowed.max(1)
    }

    /// Takes a token for one mail; the error is the time until there may be one.
    pub(crate) fn take(&self, now: Instant) -> Result<(), Duration> {
        let Some(rate) = self.rate else { return Ok(()) };
        let mut state = self.lock();
        let rate = rate * state.speed(now);
        let gained = now.saturating_duration_since(state.filled).as_secs_f64() * rate;
        state.tokens = (state.tokens + gained).min(burst(rate));
        state.filled = now;
        if state.tokens >= 1.0 {
            state.tokens -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - state.tokens) / rate))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LimiterState> {
        self.state.lock().expect("nothing panics while it holds this lock")
    }
}

/// Returns the burst: a tenth of a second's worth, so that the rate holds over any second.
fn burst(rate: f64) -> f64 {
    (rate / 10.0).max(1.0)
}
