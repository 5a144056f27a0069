//! Open connections, counted in total and per address. At a limit, the connection that has sent nothing for the
//! longest time is closed for the new one: waiting connections cannot lock out others.
//!
//! A connection waits until the head of a request was received, and again until its body was: a client that never ends
//! its body can be closed. An HTTP/2 connection waits while none of its requests was received completely. A few reserved places, given out when all others have a request, are for health checks.
//!
//! Invariant: a connection whose request was received completely is never closed for another.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::guess_limit::counted_address;

/// Places beyond the limits, for health checks only.
const RESERVED_CONNECTIONS: usize = 8;

/// Limits of open connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    pub total: usize,
    /// Limit of one address, or one IPv6 network (/64). All clients behind a proxy share its address.
    pub per_address: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self { total: 512, per_address: 256 }
    }
}

struct Open {
    address: IpAddr,
    /// Requests that were received and are not answered yet.
    received: usize,
    /// The last time at which anything of a request was received, or one ended.
    last_progress: Instant,
    reserved: bool,
    close: Arc<Notify>,
}

impl Open {
    /// `None`: a request was received and is not answered yet.
    fn waiting_since(&self) -> Option<Instant> {
        (self.received == 0).then_some(self.last_progress)
    }
}

#[derive(Default)]
struct Counted {
    last: u64,
    open: HashMap<u64, Open>,
}

/// The open connections.
pub struct Connections {
    limits: ConnectionLimits,
    counted: Mutex<Counted>,
}

impl Connections {
    /// Creates an empty list with these limits.
    pub fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, counted: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a place for a new connection; `None` if it must be refused.
    pub fn admit(self: &Arc<Self>, address: IpAddr) -> Option<ConnectionSlot> {
        let address = counted_address(address);
        let mut counted = self.lock();
        let full = |counted: &mut Counted, limit: usize, among: &dyn Fn(&Open) -> bool| {
            counted.open.values().filter(|open| among(open)).count() >= limit
                && !close_longest_waiting(counted, among)
        };
        let reserved =
            full(&mut counted, self.limits.per_address, &|open| !open.reserved && open.address == address)
                || full(&mut counted, self.limits.total, &|open| !open.reserved);
        if reserved && full(&mut counted, RESERVED_CONNECTIONS, &|open| open.reserved) {
            return None;
        }
        counted.last += 1;
        let (id, close) = (counted.last, Arc::new(Notify::new()));
        let last_progress = Instant::now();
        let open = Open { address, received: 0, last_progress, reserved, close: Arc::clone(&close) };
        counted.open.insert(id, open);
        Some(ConnectionSlot { connections: Arc::clone(self), id, reserved, close })
    }

    /// Closes one waiting connection to free a descriptor; false if none waits.
    pub fn close_one(&self) -> bool {
        close_longest_waiting(&mut self.lock(), &|_| true)
    }

    fn note_progress(&self, id: u64, change: impl FnOnce(&mut Open)) {
        if let Some(open) = self.lock().open.get_mut(&id) {
            open.last_progress = Instant::now();
            change(open);
        }
    }
}

fn close_longest_waiting(counted: &mut Counted, among: &dyn Fn(&Open) -> bool) -> bool {
    let among = counted.open.iter().filter(|(_, open)| among(open));
    let waiting = among.filter_map(|(id, open)| Some((open.waiting_since()?, *id)));
    let Some((_, id)) = waiting.min() else { return false };
    if let Some(closed) = counted.open.remove(&id) {
        closed.close.notify_one();
    }
    true
}

/// One open connection, counted until it is dropped.
pub struct ConnectionSlot {
    connections: Arc<Connections>,
    id: u64,
    reserved: bool,
    close: Arc<Notify>,
}

impl ConnectionSlot {
    /// Whether the place is for health checks only.
    pub fn is_reserved(&self) -> bool {
        self.reserved
    }

    /// Returns since when no request is being answered; `None` if one is.
    pub fn waiting_since(&self) -> Option<Instant> {
        self.connections.lock().open.get(&self.id).and_then(Open::waiting_since)
    }

    /// Waits until the connection must be closed for another. Cancel-safe.
    pub async fn closed(&self) {
        self.close.notified().await;
    }

    /// Records that the head of a request was received. The request is in flight until the result is dropped.
    pub fn request(&self) -> RequestInFlight {
        self.connections.note_progress(self.id, |_| {});
        let received = AtomicBool::new(false);
        RequestInFlight { connections: Arc::clone(&self.connections), id: self.id, received }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.lock().open.remove(&self.id);
    }
}

/// A request, from its head to the end of its response.
pub struct RequestInFlight {
    connections: Arc<Connections>,
    id: u64,
    received: AtomicBool,
}

impl RequestInFlight {
    /// Records that a part of the body was received and more follows.
    pub fn mark_progress(&self) {
        self.connections.note_progress(self.id, |_| {});
    }

    /// Records that the request was received completely, or that no more of it is read.
    pub fn mark_received(&self) {
        if !self.received.swap(true, Relaxed) {
            self.connections.note_progress(self.id, |open| open.received += 1);
        }
    }
}

impl Drop for RequestInFlight {
    fn drop(&mut self) {
        let received = usize::from(*self.received.get_mut());
        self.connections.note_progress(self.id, |open| open.received -= received);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn whole(place: &ConnectionSlot) -> RequestInFlight {
        let request = place.request();
        request.mark_received();
        request
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_idle_connection_is_closed_first() {
        let connections = Connections::new(ConnectionLimits { total: 3, per_address: 2 });
        let first = connections.admit(address(1)).expect("room");
        tokio::time::advance(Duration::from_secs(1)).await;
        let second = connections.admit(address(1)).expect("room");
        let third = connections.admit(address(1)).expect("the first makes room");
        first.closed().await;
        let (busy, also_busy) = (whole(&second), whole(&third));
        assert!(
            connections.admit(address(1)).expect("a reserved place").is_reserved(),
            "this address is busy"
        );
        let other = connections.admit(address(2)).expect("room in total");
        assert!(!other.is_reserved());
        let request = whole(&other);
        assert!(connections.admit(address(3)).expect("a reserved place").is_reserved(), "all are busy");
        drop(busy);
        assert!(!connections.admit(address(3)).expect("one waits again").is_reserved());
        second.closed().await;
        drop((also_busy, request));
        drop((first, second, third, other));
        assert_eq!(connections.lock().open.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_with_an_incomplete_body_can_be_closed() {
        let connections = Connections::new(ConnectionLimits { total: 2, per_address: 2 });
        let (silent, sending) = (connections.admit(address(1)).expect("room"), connections.admit(address(1)));
        let sending = sending.expect("room");
        let (_stalled, active) = (silent.request(), sending.request());
        tokio::time::advance(Duration::from_secs(1)).await;
        active.mark_progress();
        let next = connections.admit(address(1)).expect("the silent one makes room");
        assert!(!next.is_reserved());
        silent.closed().await;
    }

    #[tokio::test(start_paused = true)]
    async fn reserved_connections_are_limited_and_reused() {
        let connections = Connections::new(ConnectionLimits { total: 1, per_address: 1 });
        let place = connections.admit(address(1)).expect("room");
        let _busy = whole(&place);
        let reserved: Vec<ConnectionSlot> = (0..RESERVED_CONNECTIONS)
            .map(|_| connections.admit(address(1)).expect("a reserved place"))
            .collect();
        let next = connections.admit(address(1)).expect("the first reserved one makes room");
        reserved[0].closed().await;
        let _requests: Vec<RequestInFlight> = reserved[1..].iter().chain([&next]).map(whole).collect();
        assert!(connections.admit(address(1)).is_none(), "all are busy");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_with_several_requests_is_busy_until_the_last_one_ends() {
        let connections = Connections::new(ConnectionLimits { total: 1, per_address: 1 });
        let place = connections.admit(address(1)).expect("room");
        let (one, other, incomplete) = (whole(&place), whole(&place), place.request());
        assert_eq!(place.waiting_since(), None);
        drop(one);
        incomplete.mark_progress();
        assert!(connections.admit(address(1)).expect("a reserved place").is_reserved(), "one is under way");
        tokio::time::advance(Duration::from_secs(1)).await;
        drop(other);
        assert_eq!(place.waiting_since(), Some(Instant::now()));
        assert!(!connections.admit(address(1)).expect("it waits").is_reserved());
        place.closed().await;
    }

    #[test]
    fn an_ipv6_network_is_one_address() {
        let connections = Connections::new(ConnectionLimits { total: 9, per_address: 2 });
        let one = |last: u16| IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, last]);
        let places: Vec<ConnectionSlot> =
            (1..3).map(|last| connections.admit(one(last)).expect("room")).collect();
        let _busy: Vec<RequestInFlight> = places.iter().map(whole).collect();
        assert!(connections.admit(one(3)).expect("a reserved place").is_reserved());
        let elsewhere = connections.admit(IpAddr::from([0x2001, 0xdb8, 0, 2, 0, 0, 0, 1]));
        assert!(!elsewhere.expect("room").is_reserved());
    }
}
