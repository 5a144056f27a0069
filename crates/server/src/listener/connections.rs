//! Open connections: counted in total and per address. Where a limit is reached, the connection that has waited longest for a
//! request is closed for the new one: connections that send nothing can't keep others out.
//!
//! Invariant: a connection with a request under way is never closed for another; where all are, the new one is refused.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

/// How many connections may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    pub total: usize,
    /// Of one address. A proxy's address is that of all who come through it.
    pub per_address: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self { total: 512, per_address: 256 }
    }
}

struct Open {
    address: IpAddr,
    /// None: a request is under way.
    waiting_since: Option<Instant>,
    close: Arc<Notify>,
}

#[derive(Default)]
struct Counted {
    last: u64,
    open: HashMap<u64, Open>,
}

pub struct Connections {
    limits: ConnectionLimits,
    counted: Mutex<Counted>,
}

impl Connections {
    pub fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, counted: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a new connection; `None` where it must be refused.
    pub fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let mut counted = self.lock();
        let of_address = counted.open.values().filter(|open| open.address == address).count();
        if of_address >= self.limits.per_address && !close_longest_waiting(&mut counted, Some(address)) {
            return None;
        }
        if counted.open.len() >= self.limits.total && !close_longest_waiting(&mut counted, None) {
            return None;
        }
        counted.last += 1;
        let (id, close) = (counted.last, Arc::new(Notify::new()));
        let open = Open { address, waiting_since: Some(Instant::now()), close: Arc::clone(&close) };
        counted.open.insert(id, open);
        Some(Place { connections: Arc::clone(self), id, close })
    }

    /// Gives a descriptor back to whoever needs it; false where no connection waits.
    pub fn close_one(&self) -> bool {
        close_longest_waiting(&mut self.lock(), None)
    }

    fn set_waiting(&self, id: u64, since: Option<Instant>) {
        if let Some(open) = self.lock().open.get_mut(&id) {
            open.waiting_since = since;
        }
    }
}

fn close_longest_waiting(counted: &mut Counted, address: Option<IpAddr>) -> bool {
    let among = counted.open.iter().filter(|(_, open)| address.is_none_or(|address| open.address == address));
    let waiting = among.filter_map(|(id, open)| Some((open.waiting_since?, *id)));
    let Some((_, id)) = waiting.min() else { return false };
    if let Some(closed) = counted.open.remove(&id) {
        closed.close.notify_one();
    }
    true
}

/// One open connection, counted until it is dropped.
pub struct Place {
    connections: Arc<Connections>,
    id: u64,
    close: Arc<Notify>,
}

impl Place {
    /// Completes when the connection must make room. Cancel-safe.
    pub async fn closed(&self) {
        self.close.notified().await;
    }

    /// A request is under way until this is dropped.
    pub fn request(&self) -> Underway {
        self.connections.set_waiting(self.id, None);
        Underway { connections: Arc::clone(&self.connections), id: self.id }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.lock().open.remove(&self.id);
    }
}

/// A request, from its head to the end of its answer.
pub struct Underway {
    connections: Arc<Connections>,
    id: u64,
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.connections.set_waiting(self.id, Some(Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_waiting_makes_room_and_requests_are_left_alone() {
        let connections = Connections::new(ConnectionLimits { total: 3, per_address: 2 });
        let first = connections.admit(address(1)).expect("room");
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        let second = connections.admit(address(1)).expect("room");
        let third = connections.admit(address(1)).expect("the first makes room");
        first.closed().await;
        let (busy, also_busy) = (second.request(), third.request());
        assert!(connections.admit(address(1)).is_none(), "all of this address are busy");
        let other = connections.admit(address(2)).expect("room in total");
        let request = other.request();
        assert!(connections.admit(address(3)).is_none(), "all are busy");
        drop(busy);
        assert!(connections.admit(address(3)).is_some(), "one waits again");
        second.closed().await;
        drop((also_busy, request));
        drop((first, second, third, other));
        assert_eq!(connections.lock().open.len(), 0);
    }
}
