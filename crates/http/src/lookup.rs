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
const TOTAL: usize = 128;
const PER_CLIENT: usize = 16;
/// The last slots, reserved for clients that have fewer than two lookups running.
const RESERVED: usize = 32;
const SMALL: usize = 2;
/// Maximum number of callers of one client that wait for a slot, and for how long.
const WAITING: usize = 16;
const WAIT: Duration = Duration::from_millis(500);
/// Time for which an answer is cached.
const FRESH: Duration = Duration::from_secs(5);
/// Maximum number of cached answers.
const KEPT: usize = 10_000;

type Client = Option<Arc<str>>;
type Name = (Arc<str>, u16);
type Answer = Result<Arc<[SocketAddr]>, Arc<io::Error>>;

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
    shared: Arc<Shared>,
    timeout: Duration,
}

struct Shared {
    resolver: Arc<dyn Resolve>,
    state: Mutex<State>,
    ended: Notify,
}

#[derive(Default)]
struct State {
    names: HashMap<Name, Known>,
    running: usize,
    clients: HashMap<Client, Load>,
}

enum Known {
    Found(Instant, Arc<[SocketAddr]>),
    Running(Instant, watch::Receiver<Option<Answer>>),
}

#[derive(Default)]
struct Load {
    running: usize,
    waiting: usize,
}

enum Start {
    Found(Arc<[SocketAddr]>),
    Running(Instant, watch::Receiver<Option<Answer>>),
    /// The lookup of this name has been running for longer than its timeout.
    Hangs,
    Full,
}

impl Lookups {
    /// Creates lookups that use this resolver; `timeout` limits each of them.
    pub fn new(resolver: Arc<dyn Resolve>, timeout: Duration) -> Self {
        let shared = Shared { resolver, state: Mutex::default(), ended: Notify::new() };
        Self { shared: Arc::new(shared), timeout }
    }

    /// Returns the addresses of a name. Cancel-safe: a started lookup continues, and other callers may use its answer.
    pub async fn addresses(
        &self,
        client: Option<&str>,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, Unresolved> {
        let (client, name): (Client, Name) = (client.map(Into::into), (host.into(), port));
        let (started, mut answer) = match self.place(&client, &name).await? {
            Start::Found(addresses) => return Ok(addresses.to_vec()),
            Start::Running(started, answer) => (started, answer),
            Start::Hangs => return Err(Unresolved::TimedOut),
            Start::Full => return Err(Unresolved::Busy),
        };
        let answered = timeout_at(started + self.timeout, answer.wait_for(Option::is_some)).await;
        match answered.map_err(|_| Unresolved::TimedOut)?.as_deref() {
            Ok(Some(Ok(addresses))) => Ok(addresses.to_vec()),
            Ok(Some(Err(error))) => Err(Unresolved::Failed(Arc::clone(error))),
            Ok(None) | Err(_) => {
                Err(Unresolved::Failed(Arc::new(io::Error::other("the look-up was given up"))))
            }
        }
    }

    /// Starts the lookup or joins a running one; waits for a slot if none is free.
    async fn place(&self, client: &Client, name: &Name) -> Result<Start, Unresolved> {
        match self.start(client, name) {
            Start::Full => {}
            other => return Ok(other),
        }
        let _waiting = Waiting::begin(&self.shared, client).ok_or(Unresolved::Busy)?;
        let until = Instant::now() + WAIT;
        loop {
            let ended = self.shared.ended.notified();
            match self.start(client, name) {
                Start::Full => {}
                other => return Ok(other),
            }
            timeout_at(until, ended).await.map_err(|_| Unresolved::Busy)?;
        }
    }

    fn start(&self, client: &Client, name: &Name) -> Start {
        let now = Instant::now();
        let mut state = self.shared.lock();
        match state.names.get(name) {
            Some(Known::Found(since, addresses)) if now - *since < FRESH => {
                return Start::Found(Arc::clone(addresses));
            }
            Some(Known::Running(since, _)) if now - *since >= self.timeout => return Start::Hangs,
            Some(Known::Running(since, answer)) => return Start::Running(*since, answer.clone()),
            Some(Known::Found(..)) | None => {}
        }
        let own = state.clients.get(client).map_or(0, |load| load.running);
        let total = if own < SMALL { TOTAL } else { TOTAL - RESERVED };
        if own >= PER_CLIENT || state.running >= total {
            return Start::Full;
        }
        state.running += 1;
        state.clients.entry(client.clone()).or_default().running += 1;
        let (sender, answer) = watch::channel(None);
        state.names.insert(name.clone(), Known::Running(now, answer.clone()));
        drop(state);
        let running =
            Running { shared: Arc::clone(&self.shared), client: client.clone(), name: name.clone() };
        tokio::spawn(running.resolve(sender));
        Start::Running(now, answer)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn change(&mut self, client: &Client, change: impl FnOnce(&mut Load)) {
        let load = self.clients.entry(client.clone()).or_default();
        change(load);
        if load.running == 0 && load.waiting == 0 {
            self.clients.remove(client);
        }
    }

    fn keep(&mut self, name: Name, addresses: Arc<[SocketAddr]>) {
        let now = Instant::now();
        if self.names.len() >= KEPT {
            self.names.retain(|_, known| !matches!(known, Known::Found(since, _) if now - *since >= FRESH));
        }
        if self.names.len() < KEPT {
            self.names.insert(name, Known::Found(now, addresses));
        }
    }
}

/// A running lookup; its slot is freed when this is dropped.
struct Running {
    shared: Arc<Shared>,
    client: Client,
    name: Name,
}

impl Running {
    async fn resolve(self, answer: watch::Sender<Option<Answer>>) {
        let (host, port) = &self.name;
        let found = self.shared.resolver.resolve(host, *port).await;
        let found = found.map(Arc::from).map_err(Arc::new);
        if let Ok(addresses) = &found {
            self.shared.lock().keep(self.name.clone(), Arc::clone(addresses));
        }
        // Every caller may have given up.
        let _ = answer.send(Some(found));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        {
            let mut state = self.shared.lock();
            state.running -= 1;
            state.change(&self.client, |load| load.running -= 1);
            if let Some(Known::Running(..)) = state.names.get(&self.name) {
                state.names.remove(&self.name);
            }
        }
        self.shared.ended.notify_waiters();
    }
}

/// A caller of a client that waits for a slot.
struct Waiting<'a> {
    shared: &'a Shared,
    client: &'a Client,
}

impl<'a> Waiting<'a> {
    fn begin(shared: &'a Shared, client: &'a Client) -> Option<Self> {
        let mut state = shared.lock();
        let load = state.clients.entry(client.clone()).or_default();
        if load.waiting >= WAITING {
            return None;
        }
        load.waiting += 1;
        Some(Self { shared, client })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.lock().change(self.client, |load| load.waiting -= 1);
    }
}
