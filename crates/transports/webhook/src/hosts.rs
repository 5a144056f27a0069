//! What is known about each host: its breaker, its hold (Retry-After), and how much of us it gets.
//!
//! A host starts with few requests at once and gets more with each success, up to its limit; a failure halves that. So
//! a host that hangs holds a handful of deliveries, never a whole lane. What it turns away was never tried: the row
//! is deferred, and costs nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_http::{Admission, Breaker, BreakerSettings};
use postrider_seams::{Dice, Failure, Outcome, ThreadDice};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::classify::Health;

#[cfg(test)]
mod tests;

/// Requests at once to a host that nothing is known of.
const START: usize = 2;
/// How long a delivery waits for its turn at a busy host.
const PATIENCE: Duration = Duration::from_millis(500);
const BUSY: &str = "is busy";
/// How long its row is put off then: up to four times as long as the host has been stuck, within these.
const SHORTEST_PUT_OFF: Duration = Duration::from_secs(1);
const LONGEST_PUT_OFF: Duration = Duration::from_mins(1);
/// Hosts that are remembered; those that are well and idle are forgotten first.
const KNOWN_LIMIT: usize = 50_000;

pub(crate) struct Hosts {
    known: Mutex<HashMap<Arc<str>, Arc<Host>>>,
    per_host: usize,
    breaker: BreakerSettings,
}

pub(crate) struct Host {
    name: Arc<str>,
    limit: usize,
    state: Mutex<State>,
    freed: Notify,
}

struct State {
    breaker: Breaker,
    held_until: Option<Instant>,
    in_flight: usize,
    /// Requests at once that it gets now.
    share: usize,
    /// When a request last came back, or the host was first seen.
    moved: Instant,
}

/// The right to make one request. Tell what came of it; dropped without, it counts as not made.
pub(crate) struct Turn {
    host: Arc<Host>,
    told: bool,
}

impl Hosts {
    pub fn new(per_host: usize, breaker: BreakerSettings) -> Self {
        Self { known: Mutex::default(), per_host, breaker }
    }

    pub fn host(&self, name: &str) -> Arc<Host> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = known.get(name) {
            return Arc::clone(host);
        }
        if known.len() >= KNOWN_LIMIT {
            known.retain(|_, host| !host.is_forgettable());
        }
        let name: Arc<str> = name.into();
        let host = Arc::new(Host::new(Arc::clone(&name), self.per_host, self.breaker));
        known.insert(name, Arc::clone(&host));
        host
    }
}

impl Host {
    fn new(name: Arc<str>, limit: usize, breaker: BreakerSettings) -> Self {
        let state = State {
            breaker: Breaker::new(breaker),
            held_until: None,
            in_flight: 0,
            share: START.min(limit),
            moved: Instant::now(),
        };
        Self { name, limit, state: Mutex::new(state), freed: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_forgettable(self: &Arc<Self>) -> bool {
        let state = self.lock();
        state.in_flight == 0 && state.held_until.is_none() && state.breaker.is_closed()
    }

    /// Waits a moment for a turn, no longer than until `deadline`; `Err` holds why the row is put off.
    pub async fn turn(self: &Arc<Self>, deadline: Instant) -> Result<Turn, Outcome> {
        let until = deadline.min(Instant::now() + PATIENCE);
        loop {
            // Registered before the look, so that a turn that comes free in between is not missed.
            let freed = self.freed.notified();
            match self.ask(Instant::now()) {
                Asked::Go => return Ok(Turn { host: Arc::clone(self), told: false }),
                Asked::PutOff(after, why) => return Err(self.put_off(after, why)),
                Asked::Full => {}
            }
            if timeout_at(until, freed).await.is_err() {
                let stuck = self.lock().moved.elapsed();
                return Err(self.put_off(stuck, BUSY));
            }
        }
    }

    fn ask(&self, now: Instant) -> Asked {
        let mut state = self.lock();
        if let Some(until) = state.held_until {
            if now < until {
                return Asked::PutOff(until - now, "asked to be left alone");
            }
            state.held_until = None;
        }
        if let Some(left) = state.breaker.open_for(now) {
            return Asked::PutOff(left, "keeps failing");
        }
        if state.in_flight >= state.share {
            let stuck = now.saturating_duration_since(state.moved);
            let waits = stuck < PATIENCE && state.breaker.is_closed();
            return if waits { Asked::Full } else { Asked::PutOff(stuck, BUSY) };
        }
        if let Admission::Wait(wait) = state.breaker.admit(now) {
            return Asked::PutOff(wait, "keeps failing");
        }
        if state.in_flight == 0 {
            state.moved = now;
        }
        state.in_flight += 1;
        Asked::Go
    }

    /// Spread, so that rows that were put off together do not come back together: those of a busy host widely, because
    /// each look at a host that hangs costs the others, and more of them come back than it has turns.
    fn put_off(&self, after: Duration, why: &str) -> Outcome {
        let (after, roll) = (after.max(SHORTEST_PUT_OFF), ThreadDice.roll());
        let after = if why == BUSY {
            after.mul_f64(2.5 + 1.5 * roll).min(LONGEST_PUT_OFF.mul_f64(0.75 + roll / 4.0))
        } else {
            after.mul_f64(1.125 + roll / 8.0)
        };
        let failure =
            Failure { after: Some(after), ..Failure::new(format!("{} {why}; not tried", self.name)) };
        Outcome::Deferred(failure)
    }
}

enum Asked {
    Go,
    /// Its turns are all taken, and come free quickly.
    Full,
    PutOff(Duration, &'static str),
}

impl Turn {
    pub fn tell(mut self, health: Health) {
        self.told = true;
        let now = Instant::now();
        let mut state = self.host.lock();
        match health {
            Health::Well => {
                state.breaker.succeeded();
                state.share = (state.share * 2).min(self.host.limit);
            }
            Health::Unwell => {
                state.breaker.failed(now);
                state.share = (state.share / 2).max(1);
            }
            Health::Hold(after) => {
                state.breaker.succeeded();
                let until = now + after;
                state.held_until = Some(state.held_until.map_or(until, |known| known.max(until)));
            }
            Health::Unknown => state.breaker.withdrawn(now),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let now = Instant::now();
        let mut state = self.host.lock();
        state.in_flight -= 1;
        state.moved = now;
        if !self.told {
            state.breaker.withdrawn(now);
        }
        drop(state);
        // A success may have made room for more than one.
        self.host.freed.notify_one();
        self.host.freed.notify_one();
    }
}
