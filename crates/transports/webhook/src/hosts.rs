//! State of each host: the limit of concurrent requests, and per client its circuit breaker and its hold
//! (Retry-After).
//!
//! The effects of a client's requests (slots, failures, holds) apply to that client only (`room.rs`). Clients share
//! the host's limit round-robin (`line.rs`). A row that gets no slot was not attempted: it is deferred at no cost.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_http::BreakerSettings;
use postrider_seams::transport::{Hold, HoldReason};
use postrider_seams::{Dice, Failure, Outcome, ThreadDice};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::classify::Health;
use line::{Client, Line};
use room::{Admitted, Room};
use spare::{Spare, SpareSlot};

mod line;
mod room;
mod spare;
#[cfg(test)]
mod tests;

/// Time that a delivery waits for a slot of a host that may hang, and the interval between two checks of that.
const PATIENCE: Duration = Duration::from_millis(500);
/// The same while slots become free regularly: deferring a row and claiming it again costs more than waiting.
const BRISK_PATIENCE: Duration = Duration::from_secs(2);
/// The same for the first few deliveries of each client while other clients wait too: their turn comes soon, and a
/// deferred row would start again at the end of the queue.
const LONG_PATIENCE: Duration = Duration::from_secs(10);
const FIRST_FEW: usize = 16;
const BUSY: &str = "is busy";
/// Bounds of the deferral that follows: up to four times as long as the host has been hanging.
const SHORTEST_PUT_OFF: Duration = Duration::from_secs(1);
const LONGEST_PUT_OFF: Duration = Duration::from_mins(1);
/// Maximum number of hosts in memory; healthy idle ones are dropped first.
const KNOWN_LIMIT: usize = 50_000;

pub(crate) struct Hosts {
    known: Mutex<HashMap<Arc<str>, Arc<Host>>>,
    per_host: usize,
    breaker: BreakerSettings,
    spare: Arc<Spare>,
}

pub(crate) struct Host {
    name: Arc<str>,
    spare: Arc<Spare>,
    state: Mutex<State>,
}

struct State {
    room: Room,
    line: Line<oneshot::Sender<Result<Slot, Outcome>>>,
}

/// The permit for one request. The caller reports its result; a slot dropped without a report counts as not used.
pub(crate) struct Slot {
    host: Arc<Host>,
    client: Client,
    began: Instant,
    reported: bool,
    _spare: Option<SpareSlot>,
}

/// A place in a host's queue; dropping it leaves the queue.
struct Place {
    host: Arc<Host>,
    client: Client,
    ticket: u64,
    answer: oneshot::Receiver<Result<Slot, Outcome>>,
}

impl Hosts {
    /// Creates an empty table of hosts. `concurrency` limits concurrent requests over all hosts.
    pub fn new(per_host: usize, concurrency: usize, breaker: BreakerSettings) -> Self {
        Self { known: Mutex::default(), per_host, breaker, spare: Spare::new(concurrency) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Host>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state of this host, which is created if it is unknown.
    pub fn host(&self, name: &str) -> Arc<Host> {
        let mut known = self.lock();
        if let Some(host) = known.get(name) {
            return Arc::clone(host);
        }
        if known.len() >= KNOWN_LIMIT {
            known.retain(|_, host| !host.is_forgettable());
        }
        let name: Arc<str> = name.into();
        let state = State { room: Room::new(self.per_host, self.breaker), line: Line::default() };
        let host = Host { name: Arc::clone(&name), spare: Arc::clone(&self.spare), state: Mutex::new(state) };
        let host = Arc::new(host);
        known.insert(name, Arc::clone(&host));
        host
    }

    /// Returns the hold of this host for this client, `None` if requests are allowed or the host is unknown.
    /// Sends no request and adds no host.
    pub fn hold(&self, name: &str, client: Option<&str>) -> Option<Hold> {
        let host = Arc::clone(self.lock().get(name)?);
        let (why, left) = host.lock().room.hold(&client.map(Into::into), Instant::now())?;
        let why = if why == room::ASKED { HoldReason::Asked } else { HoldReason::Breaker };
        Some(Hold { target: name.to_owned(), why, left })
    }
}

impl Host {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_forgettable(&self) -> bool {
        let state = self.lock();
        state.line.is_empty() && state.room.is_forgettable(Instant::now())
    }

    /// Waits for a slot until `deadline` at most; the error is the deferral of the row.
    pub async fn slot(self: &Arc<Self>, client: Option<&str>, deadline: Instant) -> Result<Slot, Outcome> {
        let began = Instant::now();
        let mut place = match self.ask(client, began) {
            Asked::Waits(place) => place,
            Asked::Answered(answer) => return answer,
        };
        let mut until = deadline.min(began + PATIENCE);
        loop {
            match timeout_at(until, &mut place.answer).await {
                Ok(Ok(answer)) => return answer,
                Ok(Err(_)) => return place.give_up(),
                Err(_) => {}
            }
            // A hanging request frees no slot; only elapsed time grants a spare one (`room.rs`).
            self.serve();
            if let Ok(answer) = place.answer.try_recv() {
                return answer;
            }
            if until >= deadline || !place.may_stay(began) {
                return place.give_up();
            }
            until = deadline.min(Instant::now() + PATIENCE);
        }
    }

    /// Returns a slot or a refusal, or a place in the queue if the host is busy.
    fn ask(self: &Arc<Self>, client: Option<&str>, now: Instant) -> Asked {
        let mut state = self.lock();
        let client: Client = client.map(Into::into);
        let (after, why) = match state.room.admit(&client, now, &self.spare) {
            Admitted::Go(spare) => return Asked::Answered(Ok(self.begin(client, now, spare))),
            Admitted::PutOff(after, why) => (after, why),
            Admitted::Full if state.room.is_moving(&client, now) => {
                let (sender, answer) = oneshot::channel();
                let ticket = state.line.join(&client, sender);
                return Asked::Waits(Place { host: Arc::clone(self), client, ticket, answer });
            }
            Admitted::Full => (state.room.stuck(&client, now), BUSY),
        };
        Asked::Answered(Err(self.put_off(after, why)))
    }

    fn begin(self: &Arc<Self>, client: Client, now: Instant, spare: Option<SpareSlot>) -> Slot {
        Slot { host: Arc::clone(self), client, began: now, reported: false, _spare: spare }
    }

    /// Assigns free slots to waiting deliveries, round-robin over clients; a client whose host is on hold is refused.
    fn serve(self: &Arc<Self>) {
        loop {
            let now = Instant::now();
            let mut state = self.lock();
            let State { room, line } = &mut *state;
            let mut decided = None;
            let next = line.next_where(|client| match room.admit(client, now, &self.spare) {
                Admitted::Full => false,
                other => {
                    decided = Some(other);
                    true
                }
            });
            let Some(((client, next), decided)) = next.zip(decided) else { return };
            let answer = match decided {
                Admitted::Go(spare) => Ok(self.begin(client, now, spare)),
                Admitted::PutOff(after, why) => Err(self.put_off(after, why)),
                Admitted::Full => return,
            };
            // A slot whose receiver is gone is dropped here, and its drop needs the lock.
            drop(state);
            let _ = next.send(answer);
        }
    }

    /// Defers a row with jitter, so that rows deferred together do not return together. Rows of a busy host are spread
    /// widely, because each check of a hanging host costs the others, and more rows return than it has slots.
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
    /// The host is busy.
    Waits(Place),
    Answered(Result<Slot, Outcome>),
}

impl Place {
    /// Whether waiting further is worthwhile. A long wait is so only if clients take turns: a single client is better
    /// served by its other hosts.
    fn may_stay(&self, began: Instant) -> bool {
        let now = Instant::now();
        let state = self.host.lock();
        let first = state.line.place(&self.client, self.ticket).is_none_or(|place| place < FIRST_FEW);
        let shared = state.line.clients() > 1 || state.room.is_shared(&self.client);
        let waited = now.saturating_duration_since(began);
        let brisk = state.room.stuck(&self.client, now) < PATIENCE;
        let brisk = brisk || state.room.is_overtaken(&self.client, now);
        let in_turns = first && shared && waited < LONG_PATIENCE;
        state.room.is_moving(&self.client, now) && (in_turns || (brisk && waited < BRISK_PATIENCE))
    }

    fn give_up(mut self) -> Result<Slot, Outcome> {
        let stuck = {
            let mut state = self.host.lock();
            state.line.leave(&self.client, self.ticket);
            state.room.stuck(&self.client, Instant::now())
        };
        // The answer may have arrived at the last moment.
        self.answer.try_recv().unwrap_or_else(|_| Err(self.host.put_off(stuck, BUSY)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.host.lock().line.leave(&self.client, self.ticket);
    }
}

impl Slot {
    /// Reports the result of the request, which updates the client's slots, breaker and hold.
    pub fn report(mut self, health: Health) {
        self.reported = true;
        let now = Instant::now();
        self.host.lock().room.report(&self.client, health, self.began, now);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.host.lock().room.end(&self.client, self.reported, Instant::now());
        self.host.serve();
    }
}
