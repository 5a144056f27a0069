//! The connection pool: idle connections, and the limit of open ones.
//!
//! Invariant: no more connections are open than there are permits; a connection that is idle too long is closed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::{http1, http2};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::connection::Connection;
use crate::target::Origin;

pub(crate) struct HttpConnectionPool {
    state: Mutex<PooledConnections>,
    permits: Arc<Semaphore>,
    idle_for: Duration,
}

#[derive(Default)]
struct PooledConnections {
    hosts: HashMap<Origin, HostConnections>,
    reaping: bool,
}

#[derive(Default)]
struct HostConnections {
    /// The most recently used connection is at the end and is used next.
    idle: Vec<(http1::SendRequest<Full<Bytes>>, Instant)>,
    shared: Option<(http2::SendRequest<Full<Bytes>>, Instant)>,
    /// Whether its connections are HTTP/1.1. Until that is known, one request dials and the others wait.
    is_http1: bool,
    dial_lock: Arc<tokio::sync::Mutex<()>>,
}

impl HostConnections {
    fn is_unused(&self) -> bool {
        self.idle.is_empty() && self.shared.is_none() && Arc::strong_count(&self.dial_lock) == 1
    }

    /// Returns when its longest idle connection was last used.
    fn oldest(&self) -> Option<Instant> {
        let first = self.idle.first().map(|(_, since)| *since);
        [first, self.shared.as_ref().map(|(_, since)| *since)].into_iter().flatten().min()
    }

    fn close_before(&mut self, cutoff: Instant) {
        self.idle.retain(|(sender, since)| *since >= cutoff && !sender.is_closed());
        if self.shared.as_ref().is_some_and(|(sender, since)| *since < cutoff || sender.is_closed()) {
            self.shared = None;
        }
    }
}

impl HttpConnectionPool {
    /// Creates an empty pool with this many permits; `idle_for` is the time after which idle connections are closed.
    pub fn new(connections: usize, idle_for: Duration) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), permits: Arc::new(Semaphore::new(connections)), idle_for })
    }

    fn lock(&self) -> MutexGuard<'_, PooledConnections> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a pooled connection that is open and free, as far as this side knows.
    pub fn take_connection(&self, origin: &Origin) -> Option<Connection> {
        let now = Instant::now();
        let mut state = self.lock();
        let host = state.hosts.get_mut(origin)?;
        if let Some((sender, since)) = &mut host.shared {
            if !sender.is_closed() {
                *since = now;
                return Some(Connection::Http2(sender.clone()));
            }
            host.shared = None;
        }
        while let Some((sender, since)) = host.idle.pop() {
            if sender.is_ready() && !sender.is_closed() && now.duration_since(since) < self.idle_for {
                return Some(Connection::Http1(sender));
            }
        }
        None
    }

    /// Closes the idle connections of a host that received nothing since this time.
    /// A request that began then got no answer; if the host is gone, each of them would cost one more timeout.
    pub fn close_idle_since(&self, origin: &Origin, since: Instant) {
        if let Some(host) = self.lock().hosts.get_mut(origin) {
            host.idle.retain(|(_, answered)| *answered >= since);
        }
    }

    /// Whether the pool has an open connection, as far as this side knows.
    pub fn has_connection(&self, origin: &Origin) -> bool {
        let state = self.lock();
        let Some(host) = state.hosts.get(origin) else { return false };
        let shared = host.shared.as_ref().is_some_and(|(sender, _)| !sender.is_closed());
        shared || host.idle.iter().any(|(sender, _)| sender.is_ready() && !sender.is_closed())
    }

    /// Returns the lock to hold while dialling this host, `None` if its connections cannot be shared.
    pub fn dial_lock(&self, origin: &Origin) -> Option<Arc<tokio::sync::Mutex<()>>> {
        let mut state = self.lock();
        let host = state.hosts.entry(origin.clone()).or_default();
        (origin.secure && !host.is_http1).then(|| Arc::clone(&host.dial_lock))
    }

    /// Returns the permit for one more connection; closes an idle one if no permit is left. Cancel-safe.
    pub async fn permit(&self) -> OwnedSemaphorePermit {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return permit;
        }
        self.close_oldest();
        Arc::clone(&self.permits).acquire_owned().await.expect("the semaphore is never closed")
    }

    fn close_oldest(&self) {
        let mut state = self.lock();
        let oldest =
            state.hosts.values_mut().filter(|host| host.oldest().is_some()).min_by_key(|host| host.oldest());
        let Some(host) = oldest else { return };
        if host.idle.is_empty() {
            host.shared = None;
        } else {
            host.idle.remove(0);
        }
    }

    /// Records the protocol of a new connection, so that other requests may share it.
    pub fn record_opened(self: &Arc<Self>, origin: &Origin, connection: &Connection) {
        let mut state = self.lock();
        let host = state.hosts.entry(origin.clone()).or_default();
        match connection {
            Connection::Http1(_) => host.is_http1 = true,
            Connection::Http2(sender) => {
                host.is_http1 = false;
                host.shared = Some((sender.clone(), Instant::now()));
            }
        }
        self.reap_later(&mut state);
    }

    /// Returns a connection to the pool after its response was read to the end.
    pub fn put_back(self: &Arc<Self>, origin: &Origin, connection: Connection) {
        let Connection::Http1(mut sender) = connection else { return };
        // Not the time at which the task below runs: that may be after the start of a request that gets no answer.
        let answered = Instant::now();
        if sender.is_ready() {
            return self.add_idle(origin, sender, answered);
        }
        if sender.is_closed() {
            return;
        }
        // The connection's own task is about to find that the response is complete.
        let (pool, origin) = (Arc::clone(self), origin.clone());
        tokio::spawn(async move {
            if let Ok(Ok(())) = tokio::time::timeout(pool.idle_for, sender.ready()).await {
                pool.add_idle(&origin, sender, answered);
            }
        });
    }

    fn add_idle(
        self: &Arc<Self>,
        origin: &Origin,
        sender: http1::SendRequest<Full<Bytes>>,
        answered: Instant,
    ) {
        let mut state = self.lock();
        if let Some(host) = state.hosts.get_mut(origin) {
            host.idle.push((sender, answered));
        }
        self.reap_later(&mut state);
    }

    /// Starts the task that closes idle connections; it runs while there are any.
    fn reap_later(self: &Arc<Self>, state: &mut PooledConnections) {
        if !std::mem::replace(&mut state.reaping, true) {
            tokio::spawn(reap(Arc::downgrade(self), self.idle_for / 2));
        }
    }
}

async fn reap(pool: Weak<HttpConnectionPool>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut state = pool.lock();
        if let Some(cutoff) = Instant::now().checked_sub(pool.idle_for) {
            state.hosts.values_mut().for_each(|host| host.close_before(cutoff));
        }
        state.hosts.retain(|_, host| !host.is_unused());
        if state.hosts.is_empty() {
            state.reaping = false;
            return;
        }
    }
}
