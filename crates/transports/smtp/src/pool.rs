//! The connection pool of one relay. Invariant: idle and used connections together never exceed the limit.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::config::Settings;
use crate::connection::{Connection, open};
use crate::error::Fault;
use crate::pace::Pace;
use crate::room::Room;
use crate::tls::Guard;

/// Interval at which a call that waits for a place checks the throttle again.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) struct Pool {
    pub settings: Settings,
    pub pace: Pace,
    pub room: Room,
    guard: Option<Guard>,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Default)]
struct State {
    /// The most recently used connection is last and is used next; the others age and are closed.
    idle: Vec<(Connection, Instant)>,
    /// Places in use, with a connection or not yet.
    taken: usize,
    reaping: bool,
}

/// The permit for one connection. Released when dropped.
pub(crate) struct Place {
    pool: Arc<Pool>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.pool.lock().taken -= 1;
        self.pool.freed.notify_one();
    }
}

impl Pool {
    pub(crate) fn new(settings: Settings, guard: Option<Guard>) -> Self {
        let pace = Pace::new(settings.rate, Instant::now());
        Self { settings, pace, room: Room::default(), guard, state: Mutex::default(), freed: Notify::new() }
    }

    /// Takes a place, with an idle connection if there is one; `None` if all are in use until the deadline.
    pub(crate) async fn take(self: &Arc<Self>, deadline: Instant) -> Option<(Place, Option<Connection>)> {
        loop {
            if let Some(taken) = self.try_take() {
                return Some(taken);
            }
            let now = Instant::now();
            if now >= deadline {
                return None;
            }
            let _ = timeout_at(deadline.min(now + LOOK), self.freed.notified()).await;
        }
    }

    fn try_take(self: &Arc<Self>) -> Option<(Place, Option<Connection>)> {
        let allowed = self.pace.connections(self.settings.connections, Instant::now());
        let mut state = self.lock();
        if state.taken >= allowed {
            return None;
        }
        state.taken += 1;
        let idle = state.idle.pop().map(|(connection, _)| connection);
        Some((Place { pool: Arc::clone(self) }, idle))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds this lock")
    }

    /// Removes idle connections, each with a place, so that closing ones still count.
    fn take_idle(self: &Arc<Self>, older_than: Duration) -> Vec<(Place, Connection)> {
        let now = Instant::now();
        let mut state = self.lock();
        let old =
            state.idle.partition_point(|(_, since)| now.saturating_duration_since(*since) >= older_than);
        let old: Vec<_> = state.idle.drain(..old).collect();
        state.taken += old.len();
        old.into_iter().map(|(connection, _)| (Place { pool: Arc::clone(self) }, connection)).collect()
    }

    /// Sends QUIT on all idle connections and closes them.
    pub(crate) async fn close(self: &Arc<Self>) {
        for (_place, connection) in self.take_idle(Duration::ZERO) {
            connection.quit(None).await;
        }
    }
}

impl Place {
    /// Returns the idle connection if it is still usable, or another idle one, or a new one.
    pub(crate) async fn ready(
        &self,
        idle: Option<Connection>,
        deadline: Instant,
    ) -> Result<Connection, Fault> {
        let mut candidate = idle;
        while let Some(mut connection) = candidate {
            if connection.is_alive().await {
                return Ok(connection);
            }
            candidate = self.pool.lock().idle.pop().map(|(connection, _)| connection);
        }
        open(&self.pool.settings, self.pool.guard.as_ref(), deadline).await
    }

    /// Returns a usable connection to the pool.
    pub(crate) fn keep(self, mut connection: Connection) {
        connection.rest();
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
async fn reap(pool: Weak<Pool>, idle: Duration) {
    loop {
        tokio::time::sleep(idle.min(Duration::from_secs(30))).await;
        let Some(pool) = pool.upgrade() else { return };
        for (_place, connection) in pool.take_idle(idle) {
            connection.quit(None).await;
        }
        let mut state = pool.lock();
        if state.idle.is_empty() {
            state.reaping = false;
            return;
        }
    }
}
