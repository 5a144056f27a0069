//! A connection pool with a deadline for every call.
//!
//! Owns: how many connections are open, which of them are idle, and which may be reused. Must not: know a driver; a
//! store implements [`Connect`]. Invariant: a connection returns to the pool only after a call that left nothing open
//! on it. A connection that missed its deadline, whose call was cancelled, or whose state is unknown after an error is
//! dropped, which closes its socket without waiting for the peer.
//!
//! After a missed deadline the peer may be gone, and every other open connection may be dead as well. All of them are
//! *suspect* from then on: idle ones are dropped instead of tried one after the other, and those in use no longer count
//! against the pool's size. Calls that move rows get a last second for their answer, so that a lane does not wait for
//! the full deadline of one dead connection after the other. The same applies when a server has become read-only: after
//! a fail-over all sessions on the old primary are read-only.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, timeout, timeout_at};

use super::errors::DriverErrors;

/// Milliseconds between attempts to connect to a server that refuses connections or is starting.
const RECONNECT_DELAYS: [u64; 5] = [10, 30, 100, 250, 500];
/// Maximum wait for the answer to a call that moves rows and whose connection has become suspect.
const SUSPECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum wait for the peer during an orderly close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The driver's part of a pool.
pub trait Connect: Send + Sync + 'static {
    type Connection: Send + 'static;
    type Errors: DriverErrors;

    /// Opens a connection with its session settings.
    fn connect(&self) -> impl Future<Output = Result<Self::Connection, ErrorOf<Self>>> + Send;

    /// Closes the connection in an orderly way.
    fn close(&self, connection: Self::Connection) -> impl Future<Output = ()> + Send;

    /// Whether no transaction is open on the connection.
    fn is_clean(&self, connection: &Self::Connection) -> bool;
}

/// The error of a pool's driver.
type ErrorOf<C> = <<C as Connect>::Errors as DriverErrors>::Error;

/// The size and the time limits of a pool.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub connections: u32,
    /// Time limit of calls that move rows. Calls with a longer one (maintenance) may keep it although their
    /// connection is suspect. Zero if no peer can vanish.
    pub row_call_timeout: Duration,
    /// Maximum wait for a connection.
    pub acquire: Duration,
    /// Time limit of one attempt to connect.
    pub connect: Duration,
    /// Maximum age of a connection, so that changes of name resolution and of the server take effect.
    pub lifetime: Option<Duration>,
    /// Maximum idle time of a connection: the server, or a device in between, may drop it later.
    pub idle: Option<Duration>,
}

/// A pool of connections; clones share it.
pub struct Pool<C: Connect>(Arc<Inner<C>>);

struct Inner<C: Connect> {
    connect: C,
    limits: Limits,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Idle<C::Connection>>>,
    /// Increases with each missed deadline, and with each error that concerns all connections.
    suspicion: watch::Sender<u64>,
}

struct Idle<T> {
    live: Live<T>,
    since: Instant,
}

struct Live<T> {
    connection: T,
    opened: Instant,
    /// The value of `suspicion` when the connection was opened.
    generation: u64,
}

impl<C: Connect> Clone for Pool<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: Connect> Inner<C> {
    fn idle(&self) -> MutexGuard<'_, Vec<Idle<C::Connection>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_usable(&self, live: &Live<C::Connection>) -> bool {
        live.generation == *self.suspicion.borrow()
            && self.limits.lifetime.is_none_or(|most| live.opened.elapsed() < most)
    }

    fn is_fresh(&self, idle: &Idle<C::Connection>) -> bool {
        self.is_usable(&idle.live) && self.limits.idle.is_none_or(|most| idle.since.elapsed() < most)
    }

    async fn open(&self) -> Result<Live<C::Connection>, ErrorOf<C>> {
        let generation = *self.suspicion.borrow();
        let connection = timeout(self.limits.connect, self.connect.connect())
            .await
            .map_err(|_| C::Errors::no_connection())??;
        Ok(Live { connection, opened: Instant::now(), generation })
    }

    async fn open_until(&self, end: Instant) -> Result<Live<C::Connection>, ErrorOf<C>> {
        let mut pauses = RECONNECT_DELAYS.into_iter();
        loop {
            let Ok(opened) = timeout_at(end, self.open()).await else {
                return Err(C::Errors::no_connection());
            };
            match opened {
                Err(error) if C::Errors::is_starting_up(&error) => {
                    let pause = Duration::from_millis(
                        pauses.next().unwrap_or(RECONNECT_DELAYS[RECONNECT_DELAYS.len() - 1]),
                    );
                    if Instant::now() + pause >= end {
                        return Err(error);
                    }
                    tokio::time::sleep(pause).await;
                }
                ended => return ended,
            }
        }
    }
}

impl<C: Connect> Pool<C> {
    /// A pool without open connections; they are opened on demand.
    pub fn new(connect: C, limits: Limits) -> Self {
        Self(Arc::new(Inner {
            connect,
            limits,
            permits: Arc::new(Semaphore::new(limits.connections.max(1) as usize)),
            idle: Mutex::default(),
            suspicion: watch::Sender::new(0),
        }))
    }

    /// Returns the driver's part of the pool.
    pub fn connector(&self) -> &C {
        &self.0.connect
    }

    /// Checks that the server can be reached: connects once if no connection is open, and fails at once with the
    /// reason.
    ///
    /// It does not retry, because an operator is waiting for a command.
    pub async fn reach(&self) -> Result<(), ErrorOf<C>> {
        let all = self.0.limits.connections.max(1) as usize;
        let used = all - self.0.permits.available_permits().min(all);
        if used > 0 || self.0.idle().iter().any(|idle| self.0.is_fresh(idle)) {
            return Ok(());
        }
        let opened = timeout(self.0.limits.acquire, self.0.open()).await;
        let live = opened.map_err(|_| C::Errors::no_connection())??;
        self.0.idle().push(Idle { live, since: Instant::now() });
        Ok(())
    }

    /// Returns an idle connection or opens one; errs if there is none within the acquire limit.
    pub async fn acquire(&self) -> Result<PooledConnection<C>, ErrorOf<C>> {
        let end = Instant::now() + self.0.limits.acquire;
        let permit = timeout_at(end, Arc::clone(&self.0.permits).acquire_owned()).await;
        let permit = permit.map_err(|_| C::Errors::no_connection())?.map_err(|_| C::Errors::closed())?;
        let live = match self.idle_one() {
            Some(live) => live,
            None => self.0.open_until(end).await?,
        };
        Ok(PooledConnection { pool: self.clone(), live, permit: Arc::new(Mutex::new(Some(permit))) })
    }

    /// The connection that was used last: under little load the others grow old and are closed.
    fn idle_one(&self) -> Option<Live<C::Connection>> {
        let mut idle = self.0.idle();
        idle.retain(|one| self.0.is_fresh(one));
        idle.pop().map(|one| one.live)
    }

    /// Marks every connection of this generation as suspect.
    fn suspect(&self, generation: u64) {
        let is_news = self.0.suspicion.send_if_modified(|suspicion| {
            let is_news = *suspicion == generation;
            *suspicion += u64::from(is_news);
            is_news
        });
        if is_news {
            self.0.idle().clear();
        }
    }

    /// Waits for running calls, and closes every connection.
    pub async fn close(&self) {
        let all = self.0.limits.connections.max(1);
        // An error means that another caller has closed the pool.
        let ended = self.0.permits.acquire_many(all).await;
        self.0.permits.close();
        drop(ended);
        let idle = std::mem::take(&mut *self.0.idle());
        for one in idle {
            // If the peer does not answer, the socket is closed anyway.
            timeout(CLOSE_TIMEOUT, self.0.connect.close(one.live.connection)).await.ok();
        }
    }
}

/// A connection in use. Only [`PooledConnection::end`] returns it to the pool; if dropped, it is closed.
pub struct PooledConnection<C: Connect> {
    pool: Pool<C>,
    /// Declared before the permit, so that the connection is closed before another one may be opened.
    live: Live<C::Connection>,
    permit: Arc<Permit>,
}

/// Empty once the connection no longer counts against the pool's size.
type Permit = Mutex<Option<OwnedSemaphorePermit>>;

impl<C: Connect> PooledConnection<C> {
    /// Returns the deadline of a call on this connection.
    pub fn deadline(&self, within: Duration) -> CallDeadline<C> {
        let (pool, permit) = (self.pool.clone(), Arc::clone(&self.permit));
        CallDeadline { pool, permit, generation: self.live.generation, within }
    }

    /// Ends the use, and returns the connection to the pool if it is still usable.
    pub fn end<T>(self, outcome: Result<T, ErrorOf<C>>) -> Result<T, ErrorOf<C>> {
        let survives = outcome.as_ref().err().is_none_or(C::Errors::keeps_session);
        let affects_all_connections = outcome.as_ref().err().is_some_and(C::Errors::affects_all_connections);
        let Self { pool, live, permit } = self;
        if affects_all_connections {
            pool.suspect(live.generation);
        }
        if survives && pool.0.is_usable(&live) && pool.0.connect.is_clean(&live.connection) {
            pool.0.idle().push(Idle { live, since: Instant::now() });
        }
        drop(permit);
        outcome
    }
}

impl<C: Connect> Deref for PooledConnection<C> {
    type Target = C::Connection;

    fn deref(&self) -> &C::Connection {
        &self.live.connection
    }
}

impl<C: Connect> DerefMut for PooledConnection<C> {
    fn deref_mut(&mut self) -> &mut C::Connection {
        &mut self.live.connection
    }
}

/// The deadline of one call.
pub struct CallDeadline<C: Connect> {
    pool: Pool<C>,
    permit: Arc<Permit>,
    generation: u64,
    within: Duration,
}

impl<C: Connect> CallDeadline<C> {
    /// Runs a call; errs if it gets no answer before the deadline.
    pub async fn run<T>(
        self,
        work: impl Future<Output = Result<T, ErrorOf<C>>> + Send,
    ) -> Result<T, ErrorOf<C>> {
        let mut end = Instant::now() + self.within;
        let mut suspicion = self.pool.0.suspicion.subscribe();
        tokio::pin!(work);
        tokio::select! {
            biased;
            outcome = &mut work => return outcome,
            // The sender lives as long as the pool, which `self` keeps alive.
            _ = suspicion.wait_for(|now| *now != self.generation) => {
                drop(self.permit.lock().unwrap_or_else(PoisonError::into_inner).take());
                if self.within <= self.pool.0.limits.row_call_timeout {
                    end = end.min(Instant::now() + SUSPECT_TIMEOUT);
                }
            }
            () = tokio::time::sleep_until(end) => return self.missed(),
        }
        match timeout_at(end, work).await {
            Ok(outcome) => outcome,
            Err(_) => self.missed(),
        }
    }

    fn missed<T>(&self) -> Result<T, ErrorOf<C>> {
        // Other calls that time out at the same moment must not make newer connections suspect.
        self.pool.suspect(self.generation);
        Err(C::Errors::no_answer(self.within))
    }
}

#[cfg(test)]
mod tests;
