//! A circuit breaker: leaves a host alone that keeps failing, and asks it now and then whether it is well again.
//!
//! ```text
//!          failures in a row            the wait is over, one may try
//!  Closed ───────────────────▶ Open ──────────────────────────────────▶ Half open
//!    ▲                          ▲                                          │
//!    │                          └───────────── it failed, wait longer ─────┤
//!    └─────────────────────────────────────────────────────── it succeeded ┘
//! ```
//!
//! Pure: time is handed in. What it turns away was never tried, and costs nothing (rule J9).

use std::time::Duration;

use tokio::time::Instant;

#[cfg(test)]
mod tests;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerSettings {
    /// Failures in a row that open it.
    pub failures: u32,
    /// The first wait; each failed probe doubles it.
    pub wait: Duration,
    pub longest_wait: Duration,
    /// A probe that never comes back (its worker died) is forgotten after this.
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

/// May this one be tried?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Pass,
    /// Not before so long.
    Wait(Duration),
}

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
    pub fn new(settings: BreakerSettings) -> Self {
        Self { settings, state: State::Closed { failures: 0 } }
    }

    /// Asks to try one. The first to ask once the wait is over is the probe, and must tell what came of it.
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

    /// How long it stays open, whoever asks. Changes nothing.
    pub fn open_for(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Open { until, .. } => until.checked_duration_since(now).filter(|left| !left.is_zero()),
            State::Closed { .. } | State::HalfOpen { .. } => None,
        }
    }

    /// It answered like one that is well.
    pub fn succeeded(&mut self) {
        self.state = State::Closed { failures: 0 };
    }

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
            // It was let through before the breaker opened.
            open @ State::Open { .. } => open,
        };
    }

    /// A probe was let through and then not made.
    pub fn withdrawn(&mut self, now: Instant) {
        if let State::HalfOpen { wait, .. } = self.state {
            self.state = State::Open { until: now, wait };
        }
    }

    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed { .. })
    }
}
