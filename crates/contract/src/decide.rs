//! From a row's counters and what happened to its next state. Pure: the engine, the simulator and the console all
//! call this one function, so what is shown is what will be done.

use std::time::Duration;

use crate::{Asked, Power, Schedule, Stage, Transition, Uncertain};

/// The longest wait after a failure that a target can ask for.
pub const LONGEST_WISH: Duration = Duration::from_hours(24);

/// Added to any clock of today, this is still a time that every database can hold.
const LONGEST_DELAY: Duration = Duration::from_hours(3_650 * 24);

/// What the decision needs to know of a row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    /// The counter as the claim read it.
    pub attempts: u32,
    /// The row's own maximum, where the contract has a column for it.
    pub max_attempts: Option<u32>,
    /// What the row's schedule column holds: a name, or a JSON list of seconds.
    pub schedule: Option<String>,
}

/// What a try came to, without the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Got {
    Delivered,
    Retryable,
    Rejected,
    Skipped,
    /// Never tried.
    Deferred,
    /// The relay refuses us, not the row: handed back free.
    Refused,
    /// Sent, no answer.
    Uncertain,
}

/// What happened, as far as the decision goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    pub got: Got,
    /// "Not before": from the target (Retry-After) or the composer (a window).
    pub after: Option<Duration>,
    /// Some recipients have it already. Then a refusal of all the others for good ends the row as delivered, with the
    /// refused ones on record; anything that may still be tried is tried for the others alone.
    pub partly: bool,
}

/// The move to make. A delay, never a time: the store adds it to the database's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    pub transition: Transition,
    /// For `Retry` and `Deferred`.
    pub delay: Duration,
}

impl Decision {
    fn now(transition: Transition) -> Self {
        Self { transition, delay: Duration::ZERO }
    }
}

impl Stage {
    /// Decides the next move. `chance` is uniform in -1..=1 and scales the jitter.
    pub fn decide(&self, row: &Counters, verdict: Verdict, chance: f64) -> Decision {
        match verdict.got {
            Got::Delivered => Decision::now(Transition::Delivered),
            Got::Retryable => self.retry_or_end(row, verdict, chance),
            Got::Rejected if verdict.partly => Decision::now(Transition::Delivered),
            Got::Rejected => Decision::now(self.unless_strict(row, Transition::Rejected)),
            Got::Skipped => Decision::now(self.unless_strict(row, Transition::Skipped)),
            Got::Deferred => {
                let delay = verdict.after.unwrap_or(Duration::ZERO).min(LONGEST_DELAY);
                Decision { transition: Transition::Deferred, delay }
            }
            Got::Refused => Decision::now(Transition::Released),
            Got::Uncertain => match self.uncertain {
                Uncertain::Retry => self.retry_or_end(row, verdict, chance),
                Uncertain::Dead => Decision::now(Transition::Dead),
                Uncertain::Delivered => Decision::now(Transition::Delivered),
            },
        }
    }

    /// At the limit a strict contract knows only success and `dead`.
    fn unless_strict(&self, row: &Counters, end: Transition) -> Transition {
        if self.attempts.strict && self.is_last(row) { Transition::Dead } else { end }
    }

    fn retry_or_end(&self, row: &Counters, verdict: Verdict, chance: f64) -> Decision {
        if self.is_last(row) {
            return Decision::now(Transition::Dead);
        }
        let planned = self.delay(row, chance);
        let delay = match (verdict.after.map(|after| after.min(LONGEST_WISH)), self.retry_rule.asked) {
            (None, _) | (Some(_), Asked::Ignore) => planned,
            (Some(after), Asked::Least) => planned.max(after),
            (Some(after), Asked::Exact) => after,
        };
        Decision { transition: Transition::Retry, delay }
    }

    /// Is a failure of the try under way the row's last?
    pub fn is_last(&self, row: &Counters) -> bool {
        // A row claimed under `count = "claims"` has already paid for this try.
        let paid = u32::from(self.attempts.count != crate::Count::Claims);
        row.attempts.saturating_add(paid) >= row.max_attempts.unwrap_or(self.attempts.max)
    }

    /// The wait after the failure of the try under way.
    pub fn delay(&self, row: &Counters, chance: f64) -> Duration {
        let paid = u32::from(self.attempts.count != crate::Count::Claims);
        let tries = row.attempts.saturating_add(paid);
        match &row.schedule {
            Some(text) => match self.retry_rule.named.get(text.as_str()) {
                Some(named) => named.delay(tries, chance),
                None => listed_seconds(text)
                    .unwrap_or_else(|| self.retry_rule.schedule.clone())
                    .delay(tries, chance),
            },
            None => self.retry_rule.schedule.delay(tries, chance),
        }
    }
}

/// A row's own schedule: a JSON list of seconds.
fn listed_seconds(text: &str) -> Option<Schedule> {
    let seconds: Vec<f64> = serde_json::from_str(text).ok()?;
    let delays: Option<Vec<Duration>> =
        seconds.into_iter().map(|second| Duration::try_from_secs_f64(second).ok()).collect();
    delays.filter(|delays| !delays.is_empty()).map(|delays| Schedule::Delays {
        delays,
        cap: None,
        jitter: 0.0,
    })
}

impl Schedule {
    /// The wait after `tries` tries (at least one). `chance` is uniform in -1..=1.
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
        // The cap comes before the jitter: the specification's formula, so a delay may exceed the cap by the jitter.
        let jittered = planned * (1.0 + jitter * chance.clamp(-1.0, 1.0));
        Duration::try_from_secs_f64(jittered.max(0.0)).unwrap_or(LONGEST_DELAY).min(LONGEST_DELAY)
    }
}
