//! What is known about each host: its breaker, its hold (Retry-After), and how much of us it gets.
//!
//! A host starts with few requests at once and gets more with each success, up to its limit; a failure halves that. So
//! a host that hangs holds a handful of deliveries, never a whole lane. Clients that share a host take turns at it
//! (`line.rs`). What it turns away was never tried: the row is deferred, and costs nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_http::{Admission, Breaker, BreakerSettings};
use postrider_seams::transport::{Hold, HoldReason};
use postrider_seams::{Dice, Failure, Outcome, ThreadDice};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::classify::Health;
use line::{Client, Line};

mod line;
#[cfg(test)]
mod tests;

/// Requests at once to a host that nothing is known of.
const START: usize = 2;
/// How long a delivery waits for its turn at a host that may be stuck; and between two looks at whether it is.
const PATIENCE: Duration = Duration::from_millis(500);
/// The same where turns come free all the time: to put a row off and claim it again costs more than to wait.
const BRISK_PATIENCE: Duration = Duration::from_secs(2);
/// The same for the first few of each client while others wait as well: their turn comes, and a row that was put off
/// would have to come back to the end of the line.
const LONG_PATIENCE: Duration = Duration::from_secs(10);
const FIRST_FEW: usize = 16;
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
}

struct State {
    breaker: Breaker,
    held_until: Option<Instant>,
    in_flight: usize,
    /// Requests at once that it gets now.
    share: usize,
    /// When a request last came back, or the host was first seen.
    moved: Instant,
    /// What a request that succeeds takes, about.
    takes: Duration,
    line: Line<oneshot::Sender<Result<Turn, Outcome>>>,
    /// Requests in flight, by client.
    flying: HashMap<Client, usize>,
}

/// The right to make one request. Tell what came of it; dropped without, it counts as not made.
pub(crate) struct Turn {
    host: Arc<Host>,
    client: Client,
    began: Instant,
    told: bool,
}

/// A place in a host's line; dropped, it is left.
struct Place {
    host: Arc<Host>,
    client: Client,
    ticket: u64,
    answer: oneshot::Receiver<Result<Turn, Outcome>>,
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

impl Hosts {
    /// Is this host left alone now? Asks nothing of it, and remembers none that it does not know.
    pub fn hold(&self, name: &str) -> Option<Hold> {
        let host = Arc::clone(self.known.lock().unwrap_or_else(PoisonError::into_inner).get(name)?);
        let (state, now) = (host.lock(), Instant::now());
        let asked = state.held_until.and_then(|until| until.checked_duration_since(now));
        let asked = asked.filter(|left| !left.is_zero()).map(|left| (HoldReason::Asked, left));
        let open = state.breaker.open_for(now).map(|left| (HoldReason::Breaker, left));
        let (why, left) = asked.or(open)?;
        Some(Hold { target: name.to_owned(), why, left })
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
            takes: Duration::ZERO,
            line: Line::default(),
            flying: HashMap::new(),
        };
        Self { name, limit, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_forgettable(&self) -> bool {
        let state = self.lock();
        state.in_flight == 0
            && state.line.is_empty()
            && state.held_until.is_none()
            && state.breaker.is_closed()
    }

    /// Waits for a turn, no longer than until `deadline`; `Err` holds why the row is put off.
    pub async fn turn(self: &Arc<Self>, client: Option<&str>, deadline: Instant) -> Result<Turn, Outcome> {
        let began = Instant::now();
        let mut place = match self.ask(client, began) {
            Asked::Waits(place) => place,
            Asked::Answered(answer) => return answer,
        };
        let mut until = deadline.min(began + PATIENCE);
        loop {
            match timeout_at(until, &mut place.answer).await {
                Ok(Ok(answer)) => return answer,
                Err(_) if until < deadline && place.may_stay(began) => {
                    until = deadline.min(Instant::now() + PATIENCE);
                }
                _ => return place.give_up(),
            }
        }
    }

    /// A place in the line where the host is busy; else the answer.
    fn ask(self: &Arc<Self>, client: Option<&str>, now: Instant) -> Asked {
        let mut state = self.lock();
        let client: Client = client.map(Into::into);
        let (after, why) = match state.admit(now) {
            Admitted::Go => return Asked::Answered(Ok(self.begin(&mut state, client, now))),
            Admitted::PutOff(after, why) => (after, why),
            Admitted::Full if state.is_moving(now) => {
                let (tell, answer) = oneshot::channel();
                let ticket = state.line.join(&client, tell);
                return Asked::Waits(Place { host: Arc::clone(self), client, ticket, answer });
            }
            Admitted::Full => (state.stuck(now), BUSY),
        };
        Asked::Answered(Err(self.put_off(after, why)))
    }

    fn begin(self: &Arc<Self>, state: &mut State, client: Client, now: Instant) -> Turn {
        *state.flying.entry(client.clone()).or_default() += 1;
        Turn { host: Arc::clone(self), client, began: now, told: false }
    }

    /// Gives what came free to those who wait, each client in its turn; if the host is to be left alone now, tells them so.
    fn serve(self: &Arc<Self>) {
        loop {
            let now = Instant::now();
            let mut state = self.lock();
            if state.line.is_empty() {
                return;
            }
            let put_off = match state.admit(now) {
                Admitted::Full => return,
                Admitted::Go => None,
                Admitted::PutOff(after, why) => Some(self.put_off(after, why)),
            };
            let Some((client, next)) = state.line.next() else { return };
            let answer = put_off.map_or_else(|| Ok(self.begin(&mut state, client, now)), Err);
            // A turn that nobody takes any more comes back here when it is dropped, which needs the lock.
            drop(state);
            let _ = next.send(answer);
        }
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
    /// It is busy.
    Waits(Place),
    Answered(Result<Turn, Outcome>),
}

enum Admitted {
    /// One more is in flight now.
    Go,
    Full,
    PutOff(Duration, &'static str),
}

impl State {
    fn admit(&mut self, now: Instant) -> Admitted {
        if let Some(until) = self.held_until {
            if now < until {
                return Admitted::PutOff(until - now, "asked to be left alone");
            }
            self.held_until = None;
        }
        if let Some(left) = self.breaker.open_for(now) {
            return Admitted::PutOff(left, "keeps failing");
        }
        if self.in_flight >= self.share {
            return Admitted::Full;
        }
        if let Admission::Wait(wait) = self.breaker.admit(now) {
            return Admitted::PutOff(wait, "keeps failing");
        }
        if self.in_flight == 0 {
            self.moved = now;
        }
        self.in_flight += 1;
        Admitted::Go
    }

    /// Has another client requests here, or waits?
    fn is_shared(&self, client: &Client) -> bool {
        self.line.clients() > 1 || self.flying.keys().any(|other| other != client)
    }

    fn stuck(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.moved)
    }

    /// Do its turns come free? A slow host is not one that hangs: it has as long as its requests usually take.
    fn is_moving(&self, now: Instant) -> bool {
        let usual = (self.takes * 2).min(LONG_PATIENCE);
        self.breaker.is_closed() && self.stuck(now) < PATIENCE.max(usual)
    }
}

impl Place {
    /// Is it worth while to wait on? For long only where clients take turns: a client alone is better served by its other
    /// hosts.
    fn may_stay(&self, began: Instant) -> bool {
        let now = Instant::now();
        let state = self.host.lock();
        let first = state.line.place(&self.client, self.ticket).is_none_or(|place| place < FIRST_FEW);
        let (waited, brisk) = (now.saturating_duration_since(began), state.stuck(now) < PATIENCE);
        let in_turns = first && state.is_shared(&self.client) && waited < LONG_PATIENCE;
        state.is_moving(now) && (in_turns || (brisk && waited < BRISK_PATIENCE))
    }

    fn give_up(mut self) -> Result<Turn, Outcome> {
        let stuck = {
            let mut state = self.host.lock();
            state.line.leave(&self.client, self.ticket);
            state.stuck(Instant::now())
        };
        // It may have come at the last moment.
        self.answer.try_recv().unwrap_or_else(|_| Err(self.host.put_off(stuck, BUSY)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.host.lock().line.leave(&self.client, self.ticket);
    }
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
                let took = now.saturating_duration_since(self.began);
                state.takes = if state.takes.is_zero() { took } else { (state.takes * 7 + took) / 8 };
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
        {
            let mut state = self.host.lock();
            state.in_flight -= 1;
            if let Some(flying) = state.flying.get_mut(&self.client) {
                *flying -= 1;
                if *flying == 0 {
                    state.flying.remove(&self.client);
                }
            }
            state.moved = now;
            if !self.told {
                state.breaker.withdrawn(now);
            }
        }
        self.host.serve();
    }
}
