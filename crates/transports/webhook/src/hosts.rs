//! State of each host: the limit of concurrent requests, and per client its circuit breaker and its hold
//! (Retry-After).
//!
//! The effects of a client's requests (slots, failures, holds) apply to that client only (`host_slots.rs`). Clients share
//! the host's limit round-robin (`wait_queue.rs`). A row that gets no slot was not attempted: it is deferred at no cost.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_http::BreakerSettings;
use postrider_seams::transport::{HoldReason, TargetHold};
use postrider_seams::{Dice, Failure, Outcome, ThreadDice};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::classify::HostHealth;
use host_slots::{HostSlots, SlotAdmission};
use spare_slots::{SpareSlot, SpareSlots};
use wait_queue::{ClientKey, WaitQueue};

mod host_slots;
mod spare_slots;
#[cfg(test)]
mod tests;
mod wait_queue;

/// Time that a delivery waits for a slot of a host that may hang, and the interval between two checks of that.
const SLOT_WAIT: Duration = Duration::from_millis(500);
/// The same while slots become free regularly: deferring a row and claiming it again costs more than waiting.
const SLOT_WAIT_IF_MOVING: Duration = Duration::from_secs(2);
/// The same for the first few deliveries of each client while other clients wait too: their turn comes soon, and a
/// deferred row would start again at the end of the queue.
const SLOT_WAIT_IF_SHARED: Duration = Duration::from_secs(10);
const FIRST_IN_QUEUE: usize = 16;
const BUSY: &str = "is busy";
/// Bounds of the deferral that follows: up to four times as long as the host has been hanging.
const MIN_DEFERRAL: Duration = Duration::from_secs(1);
const MAX_DEFERRAL: Duration = Duration::from_mins(1);
/// Maximum number of hosts in memory; healthy idle ones are dropped first.
const MAX_HOSTS: usize = 50_000;

pub(crate) struct Hosts {
    by_name: Mutex<HashMap<Arc<str>, Arc<Host>>>,
    per_host: usize,
    breaker: BreakerSettings,
    spare: Arc<SpareSlots>,
}

pub(crate) struct Host {
    name: Arc<str>,
    spare: Arc<SpareSlots>,
    state: Mutex<HostState>,
}

struct HostState {
    slots: HostSlots,
    wait_queue: WaitQueue<oneshot::Sender<Result<Slot, Outcome>>>,
}

/// The permit for one request. The caller reports its result; a slot dropped without a report counts as not used.
pub(crate) struct Slot {
    host: Arc<Host>,
    client: ClientKey,
    began: Instant,
    reported: bool,
    _spare: Option<SpareSlot>,
}

/// A place in a host's queue; dropping it leaves the queue.
struct QueueTicket {
    host: Arc<Host>,
    client: ClientKey,
    ticket: u64,
    answer: oneshot::Receiver<Result<Slot, Outcome>>,
}

impl Hosts {
    /// Creates an empty table of hosts. `concurrency` limits concurrent requests over all hosts.
    pub fn new(per_host: usize, concurrency: usize, breaker: BreakerSettings) -> Self {
        Self { by_name: Mutex::default(), per_host, breaker, spare: SpareSlots::new(concurrency) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Host>>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state of this host, which is created if it is unknown.
    pub fn host(&self, name: &str) -> Arc<Host> {
        let mut hosts = self.lock();
        if let Some(host) = hosts.get(name) {
            return Arc::clone(host);
        }
        if hosts.len() >= MAX_HOSTS {
            hosts.retain(|_, host| !host.can_be_dropped());
        }
        let name: Arc<str> = name.into();
        let state = HostState {
            slots: HostSlots::new(self.per_host, self.breaker),
            wait_queue: WaitQueue::default(),
        };
        let host = Host { name: Arc::clone(&name), spare: Arc::clone(&self.spare), state: Mutex::new(state) };
        let host = Arc::new(host);
        hosts.insert(name, Arc::clone(&host));
        host
    }

    /// Returns the hold of this host for this client, `None` if requests are allowed or the host is unknown.
    /// Sends no request and adds no host.
    pub fn hold(&self, name: &str, client: Option<&str>) -> Option<TargetHold> {
        let host = Arc::clone(self.lock().get(name)?);
        let (reason, left) = host.lock().slots.hold(&client.map(Into::into), Instant::now())?;
        let why =
            if reason == host_slots::PAUSE_REQUESTED { HoldReason::RetryAfter } else { HoldReason::Breaker };
        Some(TargetHold { target: name.to_owned(), why, left })
    }
}

impl Host {
    fn lock(&self) -> MutexGuard<'_, HostState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn can_be_dropped(&self) -> bool {
        let state = self.lock();
        state.wait_queue.is_empty() && state.slots.can_be_dropped(Instant::now())
    }

    /// Waits for a slot until `deadline` at most; the error is the deferral of the row.
    pub async fn slot(self: &Arc<Self>, client: Option<&str>, deadline: Instant) -> Result<Slot, Outcome> {
        let began = Instant::now();
        let mut place = match self.request_slot(client, began) {
            SlotRequest::Queued(place) => place,
            SlotRequest::Answered(answer) => return answer,
        };
        let mut until = deadline.min(began + SLOT_WAIT);
        loop {
            match timeout_at(until, &mut place.answer).await {
                Ok(Ok(answer)) => return answer,
                Ok(Err(_)) => return place.give_up(),
                Err(_) => {}
            }
            // A hanging request frees no slot; only elapsed time grants a spare one (`hosts/spare_slots.rs`).
            self.serve_queue();
            if let Ok(answer) = place.answer.try_recv() {
                return answer;
            }
            if until >= deadline || !place.should_wait(began) {
                return place.give_up();
            }
            until = deadline.min(Instant::now() + SLOT_WAIT);
        }
    }

    /// Returns a slot or a refusal, or a place in the queue if the host is busy.
    fn request_slot(self: &Arc<Self>, client: Option<&str>, now: Instant) -> SlotRequest {
        let mut state = self.lock();
        let client: ClientKey = client.map(Into::into);
        let (after, reason) = match state.slots.admit(&client, now, &self.spare) {
            SlotAdmission::Granted(spare) => {
                return SlotRequest::Answered(Ok(self.grant(client, now, spare)));
            }
            SlotAdmission::Deferred(after, reason) => (after, reason),
            SlotAdmission::Full if state.slots.is_progressing(&client, now) => {
                let (sender, answer) = oneshot::channel();
                let ticket = state.wait_queue.push(&client, sender);
                return SlotRequest::Queued(QueueTicket { host: Arc::clone(self), client, ticket, answer });
            }
            SlotAdmission::Full => (state.slots.stalled_for(&client, now), BUSY),
        };
        SlotRequest::Answered(Err(self.defer(after, reason)))
    }

    fn grant(self: &Arc<Self>, client: ClientKey, now: Instant, spare: Option<SpareSlot>) -> Slot {
        Slot { host: Arc::clone(self), client, began: now, reported: false, _spare: spare }
    }

    /// Assigns free slots to waiting deliveries, round-robin over clients; a client whose host is on hold is refused.
    fn serve_queue(self: &Arc<Self>) {
        loop {
            let now = Instant::now();
            let mut state = self.lock();
            let HostState { slots, wait_queue } = &mut *state;
            let mut decided = None;
            let next = wait_queue.next_where(|client| match slots.admit(client, now, &self.spare) {
                SlotAdmission::Full => false,
                other => {
                    decided = Some(other);
                    true
                }
            });
            let Some(((client, next), decided)) = next.zip(decided) else { return };
            let answer = match decided {
                SlotAdmission::Granted(spare) => Ok(self.grant(client, now, spare)),
                SlotAdmission::Deferred(after, reason) => Err(self.defer(after, reason)),
                SlotAdmission::Full => return,
            };
            // A slot whose receiver is gone is dropped here, and its drop needs the lock.
            drop(state);
            let _ = next.send(answer);
        }
    }

    /// Defers a row with jitter, so that rows deferred together do not return together. Rows of a busy host are spread
    /// widely, because each check of a hanging host costs the others, and more rows return than it has slots.
    fn defer(&self, after: Duration, reason: &str) -> Outcome {
        let (after, roll) = (after.max(MIN_DEFERRAL), ThreadDice.roll());
        let after = if reason == BUSY {
            after.mul_f64(2.5 + 1.5 * roll).min(MAX_DEFERRAL.mul_f64(0.75 + roll / 4.0))
        } else {
            after.mul_f64(1.125 + roll / 8.0)
        };
        let failure =
            Failure { after: Some(after), ..Failure::new(format!("{} {reason}; not tried", self.name)) };
        Outcome::Deferred(failure)
    }
}

enum SlotRequest {
    /// The host is busy.
    Queued(QueueTicket),
    Answered(Result<Slot, Outcome>),
}

impl QueueTicket {
    /// Whether waiting further is worthwhile. A long wait is so only if clients take turns: a single client is better
    /// served by its other hosts.
    fn should_wait(&self, began: Instant) -> bool {
        let now = Instant::now();
        let state = self.host.lock();
        let first =
            state.wait_queue.position(&self.client, self.ticket).is_none_or(|place| place < FIRST_IN_QUEUE);
        let shared = state.wait_queue.clients() > 1 || state.slots.is_shared(&self.client);
        let waited = now.saturating_duration_since(began);
        let progressing = state.slots.stalled_for(&self.client, now) < SLOT_WAIT;
        let progressing = progressing || state.slots.spare_given_recently(&self.client, now);
        let shared_turn = first && shared && waited < SLOT_WAIT_IF_SHARED;
        state.slots.is_progressing(&self.client, now)
            && (shared_turn || (progressing && waited < SLOT_WAIT_IF_MOVING))
    }

    fn give_up(mut self) -> Result<Slot, Outcome> {
        let stalled = {
            let mut state = self.host.lock();
            state.wait_queue.remove(&self.client, self.ticket);
            state.slots.stalled_for(&self.client, Instant::now())
        };
        // The answer may have arrived at the last moment.
        self.answer.try_recv().unwrap_or_else(|_| Err(self.host.defer(stalled, BUSY)))
    }
}

impl Drop for QueueTicket {
    fn drop(&mut self) {
        self.host.lock().wait_queue.remove(&self.client, self.ticket);
    }
}

impl Slot {
    /// Reports the result of the request, which updates the client's slots, breaker and hold.
    pub fn report(mut self, health: HostHealth) {
        self.reported = true;
        let now = Instant::now();
        self.host.lock().slots.report(&self.client, health, self.began, now);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.host.lock().slots.end(&self.client, self.reported, Instant::now());
        self.host.serve_queue();
    }
}
