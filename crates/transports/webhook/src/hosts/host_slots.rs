//! The slots of one host, and what is known about it from each client's requests.
//!
//! ```text
//!  a client's slots:  2 ── success: twice as many, up to the host's limit
//!                        └ failure: half as many, at least one
//! ```
//!
//! A client whose requests all hang gets a spare slot now and then (`spare_slots.rs`), so that quick requests overtake slow
//! ones; a success there adds slots. Invariant: one client's failures, holds or slow requests do not change another
//! client's slots; all stay within the host's limit, and its last slots are for clients that use few.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use postrider_http::{Admission, Breaker, BreakerSettings};
use tokio::time::Instant;

use super::spare_slots::{SpareSlot, SpareSlots};
use super::wait_queue::ClientKey;
use super::{SLOT_WAIT, SLOT_WAIT_IF_SHARED};
use crate::classify::HostHealth;

/// Initial slots of an unknown client.
const INITIAL_SLOTS: usize = 2;
/// Maximum number of spare slots of one client at one host: one more per second in which its other requests hang.
const MAX_SPARE: usize = 6;
/// Divisor of a host's limit: that part is reserved for clients with few requests in flight.
const RESERVED_DIVISOR: usize = 16;
/// Maximum number of clients of one host in memory.
const MAX_CLIENTS: usize = 1000;

pub(super) const PAUSE_REQUESTED: &str = "asked for a pause";
const FAILING: &str = "keeps failing";

pub(super) struct HostSlots {
    limit: usize,
    breaker: BreakerSettings,
    in_flight: usize,
    progress: RequestProgress,
    clients: HashMap<ClientKey, ClientState>,
}

/// State of one client at this host.
struct ClientState {
    breaker: Breaker,
    held_until: Option<Instant>,
    in_flight: usize,
    /// Current limit of concurrent requests.
    slots: usize,
    /// Time of the last spare slot: other deliveries wait a moment for its result.
    last_spare: Option<Instant>,
    progress: RequestProgress,
}

/// Measures whether requests complete.
struct RequestProgress {
    /// Time of the last completion, or of the first request.
    last_completion: Instant,
    /// Approximate duration of a successful request.
    typical_duration: Duration,
}

pub(super) enum SlotAdmission {
    /// Admitted; the request counts as in flight.
    Granted(Option<SpareSlot>),
    Full,
    Deferred(Duration, &'static str),
}

impl HostSlots {
    /// Creates the state of an unknown host with this limit of concurrent requests.
    pub fn new(limit: usize, breaker: BreakerSettings) -> Self {
        Self { limit, breaker, in_flight: 0, progress: RequestProgress::new(), clients: HashMap::new() }
    }

    /// Whether no client has state worth keeping, so that the host can be dropped.
    pub fn can_be_dropped(&self, now: Instant) -> bool {
        self.clients.values().all(|client_state| client_state.can_be_dropped(now))
    }

    /// Returns why and for how long this client must not send to the host, `None` if it may.
    pub fn hold(&self, client: &ClientKey, now: Instant) -> Option<(&'static str, Duration)> {
        self.clients.get(client)?.hold(now)
    }

    /// Admits one request of this client if its slots, the host's limit and the breaker allow it.
    pub fn admit(&mut self, client: &ClientKey, now: Instant, spare: &Arc<SpareSlots>) -> SlotAdmission {
        if !self.clients.contains_key(client) && self.clients.len() >= MAX_CLIENTS {
            self.clients.retain(|_, client_state| !client_state.can_be_dropped(now));
        }
        let (limit, breaker) = (self.limit, self.breaker);
        let client_state =
            self.clients.entry(client.clone()).or_insert_with(|| ClientState::new(limit, breaker));
        if let Some((reason, left)) = client_state.hold(now) {
            return SlotAdmission::Deferred(left, reason);
        }
        client_state.held_until = None;
        let reserved = if client_state.in_flight < INITIAL_SLOTS { 0 } else { limit / RESERVED_DIVISOR };
        if self.in_flight >= limit - reserved {
            return SlotAdmission::Full;
        }
        let spare = if client_state.in_flight < client_state.slots {
            None
        } else if let Some(slot) = client_state.may_use_spare(now).then(|| spare.take(client)).flatten() {
            Some(slot)
        } else {
            return SlotAdmission::Full;
        };
        if let Admission::Wait(wait) = client_state.breaker.admit(now) {
            return SlotAdmission::Deferred(wait, FAILING);
        }
        if spare.is_some() {
            client_state.last_spare = Some(now);
        }
        for (in_flight, progress) in [
            (&mut self.in_flight, &mut self.progress),
            (&mut client_state.in_flight, &mut client_state.progress),
        ] {
            if *in_flight == 0 {
                progress.last_completion = now;
            }
            *in_flight += 1;
        }
        SlotAdmission::Granted(spare)
    }

    /// Returns the measure that matters to this client: of its own slots if they are full, else of the host's.
    fn progress(&self, client: &ClientKey) -> &RequestProgress {
        let own =
            self.clients.get(client).filter(|client_state| client_state.in_flight >= client_state.slots);
        own.map_or(&self.progress, |client_state| &client_state.progress)
    }

    /// Returns the time since the last request completed.
    pub fn stalled_for(&self, client: &ClientKey, now: Instant) -> Duration {
        now.saturating_duration_since(self.progress(client).last_completion)
    }

    /// Whether slots become free. A slow host is not a hanging one: it may take as long as its requests usually take.
    pub fn is_progressing(&self, client: &ClientKey, now: Instant) -> bool {
        let usual = (self.progress(client).typical_duration * 2).min(SLOT_WAIT_IF_SHARED);
        let client_state = self.clients.get(client);
        let closed = client_state.is_none_or(|client_state| client_state.breaker.is_closed());
        closed
            && (self.spare_given_recently(client, now)
                || self.stalled_for(client, now) < SLOT_WAIT.max(usual))
    }

    /// Whether a spare slot was assigned a moment ago.
    pub fn spare_given_recently(&self, client: &ClientKey, now: Instant) -> bool {
        let given = self.clients.get(client).and_then(|client_state| client_state.last_spare);
        given.is_some_and(|given| now.saturating_duration_since(given) < SLOT_WAIT)
    }

    /// Whether another client has requests in flight here.
    pub fn is_shared(&self, client: &ClientKey) -> bool {
        self.clients.iter().any(|(other, client_state)| other != client && client_state.in_flight > 0)
    }

    /// Records the result of a request.
    pub fn report(&mut self, client: &ClientKey, health: HostHealth, began: Instant, now: Instant) {
        let Some(client_state) = self.clients.get_mut(client) else { return };
        match health {
            HostHealth::Healthy => {
                client_state.breaker.succeeded();
                client_state.slots = (client_state.slots * 2).min(self.limit);
                let took = now.saturating_duration_since(began);
                client_state.progress.record_duration(took);
                self.progress.record_duration(took);
            }
            HostHealth::Failing => {
                client_state.breaker.failed(now);
                client_state.slots = (client_state.slots / 2).max(1);
            }
            HostHealth::Hold(after) => {
                client_state.breaker.succeeded();
                let until = now + after;
                client_state.held_until =
                    Some(client_state.held_until.map_or(until, |hosts| hosts.max(until)));
            }
            // No more slots: the other rows for this receiver should wait, not come faster.
            HostHealth::Gone => client_state.breaker.succeeded(),
            HostHealth::Unknown => client_state.breaker.probe_not_sent(now),
        }
    }

    /// Ends a request; `reported` says whether [`HostSlots::report`] was called for it.
    pub fn end(&mut self, client: &ClientKey, reported: bool, now: Instant) {
        self.in_flight -= 1;
        self.progress.last_completion = now;
        let Some(client_state) = self.clients.get_mut(client) else { return };
        client_state.in_flight -= 1;
        client_state.progress.last_completion = now;
        if !reported {
            client_state.breaker.probe_not_sent(now);
        }
    }
}

impl ClientState {
    fn new(limit: usize, breaker: BreakerSettings) -> Self {
        let slots = INITIAL_SLOTS.min(limit);
        let breaker = Breaker::new(breaker);
        Self {
            breaker,
            held_until: None,
            in_flight: 0,
            slots,
            last_spare: None,
            progress: RequestProgress::new(),
        }
    }

    fn hold(&self, now: Instant) -> Option<(&'static str, Duration)> {
        let asked = self.held_until.and_then(|until| until.checked_duration_since(now));
        let asked = asked.filter(|left| !left.is_zero()).map(|left| (PAUSE_REQUESTED, left));
        asked.or_else(|| self.breaker.open_for(now).map(|left| (FAILING, left)))
    }

    fn can_be_dropped(&self, now: Instant) -> bool {
        self.in_flight == 0 && self.breaker.is_closed() && self.hold(now).is_none()
    }

    fn may_use_spare(&self, now: Instant) -> bool {
        let stalled = now.saturating_duration_since(self.progress.last_completion);
        let seconds = usize::try_from(stalled.as_secs()).unwrap_or(MAX_SPARE);
        let allowed = self.slots + (1 + seconds).min(MAX_SPARE);
        self.breaker.is_closed() && stalled >= SLOT_WAIT && self.in_flight < allowed
    }
}

impl RequestProgress {
    fn new() -> Self {
        Self { last_completion: Instant::now(), typical_duration: Duration::ZERO }
    }

    fn record_duration(&mut self, took: Duration) {
        self.typical_duration =
            if self.typical_duration.is_zero() { took } else { (self.typical_duration * 7 + took) / 8 };
    }
}
