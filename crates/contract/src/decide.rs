//! Decides a row's next transition from its counters and the result of an attempt. Pure: the engine, the simulator and
//! the console call the same function, so the console shows what the engine will do.

use std::time::Duration;

use crate::{Power, RetryAfter, Schedule, Stage, Transition, Uncertain};

/// The longest wait after a failure that a target can ask for; longer ones are cut to it.
pub const LONGEST_RETRY_AFTER: Duration = Duration::from_hours(24);

/// The longest delay. Added to the current time, the result still fits into every database's time type.
const LONGEST_DELAY: Duration = Duration::from_hours(3_650 * 24);

/// The columns of a row that the decision depends on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    /// The attempt counter, as the claim read it.
    pub attempts: u32,
    /// The row's own maximum; `None` if the contract has no column for it.
    pub max_attempts: Option<u32>,
    /// The value of the row's schedule column: a schedule name, or a JSON list of seconds.
    pub schedule: Option<String>,
}

/// The kind of result of an attempt, without its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultKind {
    Delivered,
    Retryable,
    Rejected,
    Skipped,
    /// No attempt was made.
    Deferred,
    /// The relay refuses our account, not this row: the row is handed back at no cost.
    Refused,
    /// The message was sent, but no answer came.
    Uncertain,
}

/// The result of an attempt, as far as the decision needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptResult {
    pub kind: ResultKind,
    /// Minimum wait, from the target (`Retry-After`) or the composer (a delivery window).
    pub after: Option<Duration>,
    /// Some recipients have received it already. If all others refuse it permanently, the row ends as delivered and the
    /// refusals are recorded; otherwise only the remaining recipients are tried again.
    pub partly_accepted: bool,
}

/// The transition to make, with a delay. It holds no time: the store adds the delay to the database's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    pub transition: Transition,
    /// Zero except for `Retry` and `Deferred`.
    pub delay: Duration,
}

impl Decision {
    fn now(transition: Transition) -> Self {
        Self { transition, delay: Duration::ZERO }
    }
}

impl Stage {
    /// Decides the next move. `chance` is uniform in -1..=1 and scales the jitter.
    pub fn decide(&self, row: &Counters, result: AttemptResult, chance: f64) -> Decision {
        match result.kind {
            ResultKind::Delivered => Decision::now(Transition::Delivered),
            ResultKind::Retryable => self.retry_or_end(row, result, chance),
            ResultKind::Rejected if result.partly_accepted => Decision::now(Transition::Delivered),
            ResultKind::Rejected => Decision::now(self.unless_strict(row, Transition::Rejected)),
            ResultKind::Skipped => Decision::now(self.unless_strict(row, Transition::Skipped)),
            ResultKind::Deferred => {
                let delay = result.after.unwrap_or(Duration::ZERO).min(LONGEST_DELAY);
                Decision { transition: Transition::Deferred, delay }
            }
            ResultKind::Refused => Decision::now(Transition::Released),
            ResultKind::Uncertain => match self.uncertain {
                Uncertain::Retry => self.retry_or_end(row, result, chance),
                Uncertain::Dead => Decision::now(Transition::Dead),
                Uncertain::Delivered => Decision::now(Transition::Delivered),
            },
        }
    }

    /// Returns `dead` instead of `end` if the contract is strict and this was the last attempt.
    fn unless_strict(&self, row: &Counters, end: Transition) -> Transition {
        if self.attempts.strict && self.is_last(row) { Transition::Dead } else { end }
    }

    fn retry_or_end(&self, row: &Counters, result: AttemptResult, chance: f64) -> Decision {
        if self.is_last(row) {
            return Decision::now(Transition::Dead);
        }
        let planned = self.delay(row, chance);
        let delay =
            match (result.after.map(|after| after.min(LONGEST_RETRY_AFTER)), self.retry_rule.retry_after) {
                (None, _) | (Some(_), RetryAfter::Ignore) => planned,
                (Some(after), RetryAfter::Minimum) => planned.max(after),
                (Some(after), RetryAfter::Exact) => after,
            };
        Decision { transition: Transition::Retry, delay }
    }

    /// Whether a delay that the target asks for (`Retry-After`) counts.
    pub fn follows_retry_after(&self) -> bool {
        self.retry_rule.retry_after != RetryAfter::Ignore
    }

    /// Whether a failure of the current attempt would be the row's last.
    pub fn is_last(&self, row: &Counters) -> bool {
        // With `count = "claims"` the claim has already counted this attempt.
        let paid = u32::from(self.attempts.count != crate::AttemptCounting::Claims);
        row.attempts.saturating_add(paid) >= row.max_attempts.unwrap_or(self.attempts.max)
    }

    /// Returns the wait after a failure of the current attempt.
    pub fn delay(&self, row: &Counters, chance: f64) -> Duration {
        let paid = u32::from(self.attempts.count != crate::AttemptCounting::Claims);
        let tries = row.attempts.saturating_add(paid);
        match &row.schedule {
            Some(text) => match self.retry_rule.named.get(text.as_str()) {
                Some(named) => named.delay(tries, chance),
                None => match listed_delays(text) {
                    Some(delays) => Schedule::Delays { delays, cap: None, jitter: 0.0 }.delay(tries, chance),
                    None => self.retry_rule.schedule.delay(tries, chance),
                },
            },
            None => self.retry_rule.schedule.delay(tries, chance),
        }
    }
}

/// Parses a row's own schedule: a JSON list of seconds, of which none is negative. `None` if the text is no such list.
/// Whatever writes schedules accepts with this function what the engine will follow.
pub fn listed_delays(text: &str) -> Option<Vec<Duration>> {
    let seconds: Vec<f64> = serde_json::from_str(text).ok()?;
    let delays: Option<Vec<Duration>> =
        seconds.into_iter().map(|second| Duration::try_from_secs_f64(second).ok()).collect();
    delays.filter(|delays| !delays.is_empty())
}

impl Schedule {
    /// Returns the wait after `tries` attempts (at least one). `chance` is uniform in -1..=1.
    pub fn delay(&self, tries: u32, chance: f64) -> Duration {
        let (planned, jitter) = match self {
            Self::Exponential { base, factor, power, cap, jitter } => {
                let exponent = match power {
                    Power::N => tries,
                    Power::NMinusOne => tries.saturating_sub(1),
                };
                let exponent = i32::try_from(exponent).unwrap_or(i32::MAX);
                let raw = base.as_secs_f64() * factor.powi(exponent);
                (raw.min(cap.as_secs_f64()), *jitter)
            }
            Self::Delays { delays, cap, jitter } => {
                let index = (tries.saturating_sub(1) as usize).min(delays.len().saturating_sub(1));
                let planned = delays.get(index).copied().unwrap_or(Duration::ZERO);
                (cap.map_or(planned, |cap| planned.min(cap)).as_secs_f64(), *jitter)
            }
        };
        // The specification's formula applies the cap before the jitter, so a delay may exceed the cap by the jitter.
        let jittered = planned * (1.0 + jitter * chance.clamp(-1.0, 1.0));
        Duration::try_from_secs_f64(jittered.max(0.0)).unwrap_or(LONGEST_DELAY).min(LONGEST_DELAY)
    }
}
