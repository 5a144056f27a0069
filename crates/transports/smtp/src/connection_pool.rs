//! The connection pool of one relay. Invariant: idle and used connections together never exceed the limit.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::config::Settings;
use crate::connection::{Connection, open};
use crate::error::ConnectionError;
use crate::rate_limiter::RateLimiter;
use crate::recipient_limit::RecipientLimit;
use crate::tls::RelayTls;

/// Interval at which a call that waits for a place checks the throttle again.
const RECHECK_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) struct SmtpConnectionPool {
    pub settings: Settings,
    pub rate_limiter: RateLimiter,
    pub recipient_limit: RecipientLimit,
    tls: Option<RelayTls>,
    state: Mutex<PoolContents>,
    freed: Notify,
}

#[derive(Default)]
struct PoolContents {
    /// The most recently used connection is last and is used next; the others age and are closed.
    idle: Vec<(Connection, Instant)>,
    /// Places in use, with a connection or not yet.
    in_use: usize,
    reaping: bool,
}

/// The permit for one connection. Released when dropped.
pub(crate) struct ConnectionPermit {
    pool: Arc<SmtpConnectionPool>,
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.pool.lock().in_use -= 1;
        self.pool.freed.notify_one();
    }
}

impl SmtpConnectionPool {
    pub(crate) fn new(settings: Settings, tls: Option<RelayTls>) -> Self {
        let rate_limiter = RateLimiter::new(settings.rate, Instant::now());
        Self {
            settings,
            rate_limiter,
            recipient_limit: RecipientLimit::default(),
            tls,
            state: Mutex::default(),
            freed: Notify::new(),
        }
    }

    /// Takes a place, with an idle connection if there is one; `None` if all are in use until the deadline.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        deadline: Instant,
    ) -> Option<(ConnectionPermit, Option<Connection>)> {
        loop {
            if let Some(acquired) = self.try_acquire() {
                return Some(acquired);
            }
            let now = Instant::now();
            if now >= deadline {
                return None;
            }
            let _ = timeout_at(deadline.min(now + RECHECK_INTERVAL), self.freed.notified()).await;
        }
    }

    fn try_acquire(self: &Arc<Self>) -> Option<(ConnectionPermit, Option<Connection>)> {
        let allowed = self.rate_limiter.connections(self.settings.connections, Instant::now());
        let mut state = self.lock();
        if state.in_use >= allowed {
            return None;
        }
        state.in_use += 1;
        let idle = state.idle.pop().map(|(connection, _)| connection);
        Some((ConnectionPermit { pool: Arc::clone(self) }, idle))
    }

    fn lock(&self) -> MutexGuard<'_, PoolContents> {
        self.state.lock().expect("nothing panics while it holds this lock")
    }

    /// Removes idle connections, each with a place, so that closing ones still count.
    fn take_idle(self: &Arc<Self>, older_than: Duration) -> Vec<(ConnectionPermit, Connection)> {
        let now = Instant::now();
        let mut state = self.lock();
        let old =
            state.idle.partition_point(|(_, since)| now.saturating_duration_since(*since) >= older_than);
        let old: Vec<_> = state.idle.drain(..old).collect();
        state.in_use += old.len();
        old.into_iter()
            .map(|(connection, _)| (ConnectionPermit { pool: Arc::clone(self) }, connection))
            .collect()
    }

    /// Sends QUIT on all idle connections and closes them.
    pub(crate) async fn close(self: &Arc<Self>) {
        for (_permit, connection) in self.take_idle(Duration::ZERO) {
            connection.quit(None).await;
        }
    }
}

impl ConnectionPermit {
    /// Returns the idle connection if it is still usable, or another idle one, or a new one.
    pub(crate) async fn connect(
        &self,
        idle: Option<Connection>,
        deadline: Instant,
    ) -> Result<Connection, ConnectionError> {
        let mut candidate = idle;
        while let Some(mut connection) = candidate {
            if connection.is_alive().await {
                return Ok(connection);
            }
            candidate = self.pool.lock().idle.pop().map(|(connection, _)| connection);
        }
        open(&self.pool.settings, self.pool.tls.as_ref(), deadline).await
    }

    /// Returns a usable connection to the pool.
    pub(crate) fn put_back(self, mut connection: Connection) {
        connection.mark_idle();
        let start = {
            let mut state = self.pool.lock();
            state.idle.push((connection, Instant::now()));
            !std::mem::replace(&mut state.reaping, true)
        };
        if start {
            tokio::spawn(reap(Arc::downgrade(&self.pool), self.pool.settings.idle));
        }
    }
}

/// Closes connections that are idle too long; ends when there are none.
async fn reap(pool: Weak<SmtpConnectionPool>, idle: Duration) {
    loop {
        tokio::time::sleep(idle.min(Duration::from_secs(30))).await;
        let Some(pool) = pool.upgrade() else { return };
        for (_permit, connection) in pool.take_idle(idle) {
            connection.quit(None).await;
        }
        let mut state = pool.lock();
        if state.idle.is_empty() {
            state.reaping = false;
            return;
        }
    }
}
