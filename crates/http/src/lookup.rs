//! DNS lookups with fair limits: one per name at a time, a bounded number per client and in total, each with its own
//! timeout.
//!
//! Invariant: a hanging lookup uses a slot of its own client only, until the resolver gives up. A caller that gets no
//! slot is refused as busy, which is not a failed lookup.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};

use crate::resolve::Resolve;

#[cfg(test)]
mod tests;

/// Maximum number of running lookups over all clients, and of one client.
const MAX_LOOKUPS: usize = 128;
const MAX_PER_CLIENT: usize = 16;
/// The last slots, reserved for clients that have fewer than two lookups running.
const RESERVED_SLOTS: usize = 32;
const FEW_LOOKUPS: usize = 2;
/// Maximum number of callers of one client that wait for a slot, and for how long.
const MAX_WAITING: usize = 16;
const SLOT_WAIT: Duration = Duration::from_millis(500);
/// Time for which an answer is cached.
const CACHE_TIME: Duration = Duration::from_secs(5);
/// Maximum number of cached answers.
const MAX_CACHED: usize = 10_000;

type ClientKey = Option<Arc<str>>;
type NameKey = (Arc<str>, u16);
type ResolveResult = Result<Arc<[SocketAddr]>, Arc<io::Error>>;

/// The reason why a lookup returned no addresses.
#[derive(Debug)]
pub enum Unresolved {
    /// No query was sent: the client has too many lookups running.
    Busy,
    /// No answer in time, or an earlier query for this name is still unanswered.
    TimedOut,
    Failed(Arc<io::Error>),
}

/// Looks up names for clients; clones share slots and cached answers.
#[derive(Clone)]
pub struct Lookups {
    shared: Arc<SharedLookups>,
    timeout: Duration,
}

struct SharedLookups {
    resolver: Arc<dyn Resolve>,
    state: Mutex<LookupState>,
    ended: Notify,
}

#[derive(Default)]
struct LookupState {
    names: HashMap<NameKey, NameState>,
    running: usize,
    clients: HashMap<ClientKey, ClientLoad>,
}

enum NameState {
    Cached(Instant, Arc<[SocketAddr]>),
    Running(Instant, watch::Receiver<Option<ResolveResult>>),
}

#[derive(Default)]
struct ClientLoad {
    running: usize,
    waiting: usize,
}

enum StartResult {
    Cached(Arc<[SocketAddr]>),
    Running(Instant, watch::Receiver<Option<ResolveResult>>),
    /// The lookup of this name has been running for longer than its timeout.
    Hanging,
    NoSlot,
}

impl Lookups {
    /// Creates lookups that use this resolver; `timeout` limits each of them.
    pub fn new(resolver: Arc<dyn Resolve>, timeout: Duration) -> Self {
        let shared = SharedLookups { resolver, state: Mutex::default(), ended: Notify::new() };
        Self { shared: Arc::new(shared), timeout }
    }

    /// Returns the addresses of a name. Cancel-safe: a started lookup continues, and other callers may use its answer.
    pub async fn addresses(
        &self,
        client: Option<&str>,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, Unresolved> {
        let (client, name): (ClientKey, NameKey) = (client.map(Into::into), (host.into(), port));
        let (started, mut answer) = match self.start_or_wait(&client, &name).await? {
            StartResult::Cached(addresses) => return Ok(addresses.to_vec()),
            StartResult::Running(started, answer) => (started, answer),
            StartResult::Hanging => return Err(Unresolved::TimedOut),
            StartResult::NoSlot => return Err(Unresolved::Busy),
        };
        let answered = timeout_at(started + self.timeout, answer.wait_for(Option::is_some)).await;
        match answered.map_err(|_| Unresolved::TimedOut)?.as_deref() {
            Ok(Some(Ok(addresses))) => Ok(addresses.to_vec()),
            Ok(Some(Err(error))) => Err(Unresolved::Failed(Arc::clone(error))),
            Ok(None) | Err(_) => {
                let cancelled = io::Error::new(io::ErrorKind::Interrupted, "the lookup was cancelled");
                Err(Unresolved::Failed(Arc::new(cancelled)))
            }
        }
    }

    /// Starts the lookup or joins a running one; waits for a slot if none is free.
    async fn start_or_wait(&self, client: &ClientKey, name: &NameKey) -> Result<StartResult, Unresolved> {
        match self.start(client, name) {
            StartResult::NoSlot => {}
            other => return Ok(other),
        }
        let _waiting = WaitingCaller::begin(&self.shared, client).ok_or(Unresolved::Busy)?;
        let until = Instant::now() + SLOT_WAIT;
        loop {
            let ended = self.shared.ended.notified();
            match self.start(client, name) {
                StartResult::NoSlot => {}
                other => return Ok(other),
            }
            timeout_at(until, ended).await.map_err(|_| Unresolved::Busy)?;
        }
    }

    fn start(&self, client: &ClientKey, name: &NameKey) -> StartResult {
        let now = Instant::now();
        let mut state = self.shared.lock();
        match state.names.get(name) {
            Some(NameState::Cached(since, addresses)) if now - *since < CACHE_TIME => {
                return StartResult::Cached(Arc::clone(addresses));
            }
            Some(NameState::Running(since, _)) if now - *since >= self.timeout => {
                return StartResult::Hanging;
            }
            Some(NameState::Running(since, answer)) => return StartResult::Running(*since, answer.clone()),
            Some(NameState::Cached(..)) | None => {}
        }
        let own = state.clients.get(client).map_or(0, |load| load.running);
        let total = if own < FEW_LOOKUPS { MAX_LOOKUPS } else { MAX_LOOKUPS - RESERVED_SLOTS };
        if own >= MAX_PER_CLIENT || state.running >= total {
            return StartResult::NoSlot;
        }
        state.running += 1;
        state.clients.entry(client.clone()).or_default().running += 1;
        let (sender, answer) = watch::channel(None);
        state.names.insert(name.clone(), NameState::Running(now, answer.clone()));
        drop(state);
        let running =
            RunningLookup { shared: Arc::clone(&self.shared), client: client.clone(), name: name.clone() };
        tokio::spawn(running.resolve(sender));
        StartResult::Running(now, answer)
    }
}

impl SharedLookups {
    fn lock(&self) -> MutexGuard<'_, LookupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LookupState {
    fn update_load(&mut self, client: &ClientKey, change: impl FnOnce(&mut ClientLoad)) {
        let load = self.clients.entry(client.clone()).or_default();
        change(load);
        if load.running == 0 && load.waiting == 0 {
            self.clients.remove(client);
        }
    }

    fn cache(&mut self, name: NameKey, addresses: Arc<[SocketAddr]>) {
        let now = Instant::now();
        if self.names.len() >= MAX_CACHED {
            self.names.retain(
                |_, state| !matches!(state, NameState::Cached(since, _) if now - *since >= CACHE_TIME),
            );
        }
        if self.names.len() < MAX_CACHED {
            self.names.insert(name, NameState::Cached(now, addresses));
        }
    }
}

/// A running lookup; its slot is freed when this is dropped.
struct RunningLookup {
    shared: Arc<SharedLookups>,
    client: ClientKey,
    name: NameKey,
}

impl RunningLookup {
    async fn resolve(self, answer: watch::Sender<Option<ResolveResult>>) {
        let (host, port) = &self.name;
        let found = self.shared.resolver.resolve(host, *port).await;
        let found = found.map(Arc::from).map_err(Arc::new);
        if let Ok(addresses) = &found {
            self.shared.lock().cache(self.name.clone(), Arc::clone(addresses));
        }
        // Every caller may have given up.
        let _ = answer.send(Some(found));
    }
}

impl Drop for RunningLookup {
    fn drop(&mut self) {
        {
            let mut state = self.shared.lock();
            state.running -= 1;
            state.update_load(&self.client, |load| load.running -= 1);
            if let Some(NameState::Running(..)) = state.names.get(&self.name) {
                state.names.remove(&self.name);
            }
        }
        self.shared.ended.notify_waiters();
    }
}

/// A caller of a client that waits for a slot.
struct WaitingCaller<'a> {
    shared: &'a SharedLookups,
    client: &'a ClientKey,
}

impl<'a> WaitingCaller<'a> {
    fn begin(shared: &'a SharedLookups, client: &'a ClientKey) -> Option<Self> {
        let mut state = shared.lock();
        let load = state.clients.entry(client.clone()).or_default();
        if load.waiting >= MAX_WAITING {
            return None;
        }
        load.waiting += 1;
        Some(Self { shared, client })
    }
}

impl Drop for WaitingCaller<'_> {
    fn drop(&mut self) {
        self.shared.lock().update_load(self.client, |load| load.waiting -= 1);
    }
}
