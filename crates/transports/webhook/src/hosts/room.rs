//! The slots of one host, and what is known about it from each client's requests.
//!
//! ```text
//!  a client's slots:  2 ── success: twice as many, up to the host's limit
//!                        └ failure: half as many, at least one
//! ```
//!
//! A client whose requests all hang gets a spare slot now and then (`spare.rs`), so that quick requests overtake slow
//! ones; a success there adds slots. Invariant: one client's failures, holds or slow requests do not change another
//! client's slots; all stay within the host's limit, and its last slots are for clients that use few.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use postrider_http::{Admission, Breaker, BreakerSettings};
use tokio::time::Instant;

use super::line::Client;
use super::spare::{Spare, SpareSlot};
use super::{LONG_PATIENCE, PATIENCE};
use crate::classify::Health;

/// Initial slots of an unknown client.
const START: usize = 2;
/// Maximum number of spare slots of one client at one host: one more per second in which its other requests hang.
const MOST_SPARE: usize = 6;
/// Divisor of a host's limit: that part is reserved for clients with few requests in flight.
const RESERVED_PART: usize = 16;
/// Maximum number of clients of one host in memory.
const CLIENTS: usize = 1000;

pub(super) const ASKED: &str = "asked to be left alone";
const FAILING: &str = "keeps failing";

pub(super) struct Room {
    limit: usize,
    breaker: BreakerSettings,
    in_flight: usize,
    pace: Pace,
    clients: HashMap<Client, Share>,
}

/// State of one client at this host.
struct Share {
    breaker: Breaker,
    held_until: Option<Instant>,
    in_flight: usize,
    /// Current limit of concurrent requests.
    slots: usize,
    /// Time of the last spare slot: other deliveries wait a moment for its result.
    overtaken: Option<Instant>,
    pace: Pace,
}

/// Measures whether requests complete.
struct Pace {
    /// Time of the last completion, or of the first request.
    moved: Instant,
    /// Approximate duration of a successful request.
    takes: Duration,
}

pub(super) enum Admitted {
    /// Admitted; the request counts as in flight.
    Go(Option<SpareSlot>),
    Full,
    PutOff(Duration, &'static str),
}

impl Room {
    /// Creates the state of an unknown host with this limit of concurrent requests.
    pub fn new(limit: usize, breaker: BreakerSettings) -> Self {
        Self { limit, breaker, in_flight: 0, pace: Pace::new(), clients: HashMap::new() }
    }

    /// Whether no client has state worth keeping, so that the host can be dropped.
    pub fn is_forgettable(&self, now: Instant) -> bool {
        self.clients.values().all(|share| share.is_forgettable(now))
    }

    /// Returns why and for how long this client must not send to the host, `None` if it may.
    pub fn hold(&self, client: &Client, now: Instant) -> Option<(&'static str, Duration)> {
        self.clients.get(client)?.hold(now)
    }

    /// Admits one request of this client if its slots, the host's limit and the breaker allow it.
    pub fn admit(&mut self, client: &Client, now: Instant, spare: &Arc<Spare>) -> Admitted {
        if !self.clients.contains_key(client) && self.clients.len() >= CLIENTS {
            self.clients.retain(|_, share| !share.is_forgettable(now));
        }
        let (limit, breaker) = (self.limit, self.breaker);
        let share = self.clients.entry(client.clone()).or_insert_with(|| Share::new(limit, breaker));
        if let Some((why, left)) = share.hold(now) {
            return Admitted::PutOff(left, why);
        }
        share.held_until = None;
        let reserved = if share.in_flight < START { 0 } else { limit / RESERVED_PART };
        if self.in_flight >= limit - reserved {
            return Admitted::Full;
        }
        let spare = if share.in_flight < share.slots {
            None
        } else if let Some(slot) = share.may_use_spare(now).then(|| spare.take(client)).flatten() {
            Some(slot)
        } else {
            return Admitted::Full;
        };
        if let Admission::Wait(wait) = share.breaker.admit(now) {
            return Admitted::PutOff(wait, FAILING);
        }
        if spare.is_some() {
            share.overtaken = Some(now);
        }
        for (in_flight, pace) in
            [(&mut self.in_flight, &mut self.pace), (&mut share.in_flight, &mut share.pace)]
        {
            if *in_flight == 0 {
                pace.moved = now;
            }
            *in_flight += 1;
        }
        Admitted::Go(spare)
    }

    /// Returns the measure that matters to this client: of its own slots if they are full, else of the host's.
    fn pace(&self, client: &Client) -> &Pace {
        let own = self.clients.get(client).filter(|share| share.in_flight >= share.slots);
        own.map_or(&self.pace, |share| &share.pace)
    }

    /// Returns the time since the last request completed.
    pub fn stuck(&self, client: &Client, now: Instant) -> Duration {
        now.saturating_duration_since(self.pace(client).moved)
    }

    /// Whether slots become free. A slow host is not a hanging one: it may take as long as its requests usually take.
    pub fn is_moving(&self, client: &Client, now: Instant) -> bool {
        let usual = (self.pace(client).takes * 2).min(LONG_PATIENCE);
        let share = self.clients.get(client);
        let closed = share.is_none_or(|share| share.breaker.is_closed());
        closed && (self.is_overtaken(client, now) || self.stuck(client, now) < PATIENCE.max(usual))
    }

    /// Whether a spare slot was assigned a moment ago.
    pub fn is_overtaken(&self, client: &Client, now: Instant) -> bool {
        let given = self.clients.get(client).and_then(|share| share.overtaken);
        given.is_some_and(|given| now.saturating_duration_since(given) < PATIENCE)
    }

    /// Whether another client has requests in flight here.
    pub fn is_shared(&self, client: &Client) -> bool {
        self.clients.iter().any(|(other, share)| other != client && share.in_flight > 0)
    }

    /// Records the result of a request.
    pub fn report(&mut self, client: &Client, health: Health, began: Instant, now: Instant) {
        let Some(share) = self.clients.get_mut(client) else { return };
        match health {
            Health::Well => {
                share.breaker.succeeded();
                share.slots = (share.slots * 2).min(self.limit);
                let took = now.saturating_duration_since(began);
                share.pace.took(took);
                self.pace.took(took);
            }
            Health::Unwell => {
                share.breaker.failed(now);
                share.slots = (share.slots / 2).max(1);
            }
            Health::Hold(after) => {
                share.breaker.succeeded();
                let until = now + after;
                share.held_until = Some(share.held_until.map_or(until, |known| known.max(until)));
            }
            // No more slots: the other rows for this receiver should wait, not come faster.
            Health::Gone => share.breaker.succeeded(),
            Health::Unknown => share.breaker.withdrawn(now),
        }
    }

    /// Ends a request; `reported` says whether [`Room::report`] was called for it.
    pub fn end(&mut self, client: &Client, reported: bool, now: Instant) {
        self.in_flight -= 1;
        self.pace.moved = now;
        let Some(share) = self.clients.get_mut(client) else { return };
        share.in_flight -= 1;
        share.pace.moved = now;
        if !reported {
            share.breaker.withdrawn(now);
        }
    }
}

impl Share {
    fn new(limit: usize, breaker: BreakerSettings) -> Self {
        let slots = START.min(limit);
        let breaker = Breaker::new(breaker);
        Self { breaker, held_until: None, in_flight: 0, slots, overtaken: None, pace: Pace::new() }
    }

    fn hold(&self, now: Instant) -> Option<(&'static str, Duration)> {
        let asked = self.held_until.and_then(|until| until.checked_duration_since(now));
        let asked = asked.filter(|left| !left.is_zero()).map(|left| (ASKED, left));
        asked.or_else(|| self.breaker.open_for(now).map(|left| (FAILING, left)))
    }

    fn is_forgettable(&self, now: Instant) -> bool {
        self.in_flight == 0 && self.breaker.is_closed() && self.hold(now).is_none()
    }

    fn may_use_spare(&self, now: Instant) -> bool {
        let stuck = now.saturating_duration_since(self.pace.moved);
        let seconds = usize::try_from(stuck.as_secs()).unwrap_or(MOST_SPARE);
        let allowed = self.slots + (1 + seconds).min(MOST_SPARE);
        self.breaker.is_closed() && stuck >= PATIENCE && self.in_flight < allowed
    }
}

impl Pace {
    fn new() -> Self {
        Self { moved: Instant::now(), takes: Duration::ZERO }
    }

    fn took(&mut self, took: Duration) {
        self.takes = if self.takes.is_zero() { took } else { (self.takes * 7 + took) / 8 };
    }
}
