//! A circuit breaker: stops requests to a host that keeps failing, and probes it until it answers again.
//!
//! ```text
//!          failures in a row            the wait is over, one may try
//!  Closed ───────────────────▶ Open ──────────────────────────────────▶ Half open
//!    ▲                          ▲                                          │
//!    │                          └───────────── it failed, wait longer ─────┤
//!    └─────────────────────────────────────────────────────── it succeeded ┘
//! ```
//!
//! Pure: the caller passes the time. A request that the breaker refuses was not attempted and costs nothing (rule J9).

use std::time::Duration;

use tokio::time::Instant;

#[cfg(test)]
mod tests;

/// Thresholds and waits of a [`Breaker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerSettings {
    /// Consecutive failures that open the breaker.
    pub failures: u32,
    /// The first wait; each failed probe doubles it.
    pub wait: Duration,
    pub longest_wait: Duration,
    /// Time after which a probe without a result (its worker died) is forgotten and another one may start.
    pub probe: Duration,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            failures: 5,
            wait: Duration::from_secs(10),
            longest_wait: Duration::from_mins(5),
            probe: Duration::from_mins(2),
        }
    }
}

/// The answer of [`Breaker::admit`]: whether a request may be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Pass,
    /// Refused; the duration is the time until the next probe may start.
    Wait(Duration),
}

/// The circuit breaker of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breaker {
    settings: BreakerSettings,
    state: BreakerState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BreakerState {
    Closed { failures: u32 },
    Open { until: Instant, wait: Duration },
    HalfOpen { since: Instant, wait: Duration },
}

impl Breaker {
    /// Creates a closed breaker.
    pub fn new(settings: BreakerSettings) -> Self {
        Self { settings, state: BreakerState::Closed { failures: 0 } }
    }

    /// Asks whether a request may be sent. The first caller after the wait is the probe and must report its result.
    pub fn admit(&mut self, now: Instant) -> Admission {
        match self.state {
            BreakerState::Closed { .. } => Admission::Pass,
            BreakerState::Open { until, .. } if now < until => Admission::Wait(until - now),
            BreakerState::Open { wait, .. } => {
                self.state = BreakerState::HalfOpen { since: now, wait };
                Admission::Pass
            }
            BreakerState::HalfOpen { since, wait } => {
                let probe_expires = since + self.settings.probe;
                if now < probe_expires {
                    return Admission::Wait((probe_expires - now).min(wait));
                }
                self.state = BreakerState::HalfOpen { since: now, wait };
                Admission::Pass
            }
        }
    }

    /// Returns the remaining wait of an open breaker, `None` if it is closed or half open. Changes nothing.
    pub fn open_for(&self, now: Instant) -> Option<Duration> {
        match self.state {
            BreakerState::Open { until, .. } => {
                until.checked_duration_since(now).filter(|left| !left.is_zero())
            }
            BreakerState::Closed { .. } | BreakerState::HalfOpen { .. } => None,
        }
    }

    /// Records a success: closes the breaker and resets its wait.
    pub fn succeeded(&mut self) {
        self.state = BreakerState::Closed { failures: 0 };
    }

    /// Records a failure: opens the breaker at the limit, and doubles the wait after a failed probe.
    pub fn failed(&mut self, now: Instant) {
        self.state = match self.state {
            BreakerState::Closed { failures } if failures + 1 < self.settings.failures => {
                BreakerState::Closed { failures: failures + 1 }
            }
            BreakerState::Closed { .. } => {
                BreakerState::Open { until: now + self.settings.wait, wait: self.settings.wait }
            }
            BreakerState::HalfOpen { wait, .. } => {
                let wait = (wait * 2).min(self.settings.longest_wait);
                BreakerState::Open { until: now + wait, wait }
            }
            // This request was admitted before the breaker opened.
            open @ BreakerState::Open { .. } => open,
        };
    }

    /// Records that an admitted probe was not sent, so that another one may start.
    pub fn probe_not_sent(&mut self, now: Instant) {
        if let BreakerState::HalfOpen { wait, .. } = self.state {
            self.state = BreakerState::Open { until: now, wait };
        }
    }

    /// Whether the breaker is closed.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, BreakerState::Closed { .. })
    }
}
