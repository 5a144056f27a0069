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
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant, wait: Duration },
    HalfOpen { since: Instant, wait: Duration },
}

impl Breaker {
    /// Creates a closed breaker.
    pub fn new(settings: BreakerSettings) -> Self {
        Self { settings, state: State::Closed { failures: 0 } }
    }

    /// Asks whether a request may be sent. The first caller after the wait is the probe and must report its result.
    pub fn admit(&mut self, now: Instant) -> Admission {
        match self.state {
            State::Closed { .. } => Admission::Pass,
            State::Open { until, .. } if now < until => Admission::Wait(until - now),
            State::Open { wait, .. } => {
                self.state = State::HalfOpen { since: now, wait };
                Admission::Pass
            }
            State::HalfOpen { since, wait } => {
                let forgotten = since + self.settings.probe;
                if now < forgotten {
                    return Admission::Wait((forgotten - now).min(wait));
                }
                self.state = State::HalfOpen { since: now, wait };
                Admission::Pass
            }
        }
    }

    /// Returns the remaining wait of an open breaker, `None` if it is closed or half open. Changes nothing.
    pub fn open_for(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Open { until, .. } => until.checked_duration_since(now).filter(|left| !left.is_zero()),
            State::Closed { .. } | State::HalfOpen { .. } => None,
        }
    }

    /// Records a success: closes the breaker and resets its wait.
    pub fn succeeded(&mut self) {
        self.state = State::Closed { failures: 0 };
    }

    /// Records a failure: opens the breaker at the limit, and doubles the wait after a failed probe.
    pub fn failed(&mut self, now: Instant) {
        self.state = match self.state {
            State::Closed { failures } if failures + 1 < self.settings.failures => {
                State::Closed { failures: failures + 1 }
            }
            State::Closed { .. } => State::Open { until: now + self.settings.wait, wait: self.settings.wait },
            State::HalfOpen { wait, .. } => {
                let wait = (wait * 2).min(self.settings.longest_wait);
                State::Open { until: now + wait, wait }
            }
            // This request was admitted before the breaker opened.
            open @ State::Open { .. } => open,
        };
    }

    /// Records that an admitted probe was not sent, so that another one may start.
    pub fn withdrawn(&mut self, now: Instant) {
        if let State::HalfOpen { wait, .. } = self.state {
            self.state = State::Open { until: now, wait };
        }
    }

    /// Whether the breaker is closed.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed { .. })
    }
}
