//! Waking: `PRAGMA data_version` tells that another connection, of any process, has committed. Reading it costs no
//! lock and no disk; the lanes of a file look at the same moments, so that one read serves them all.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use postrider_sql::run::pool::Pool;
use sqlx::{Executor as _, Row as _};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::session::Connector;

/// Between two looks: what a new row waits at most, where nothing is due.
const LOOK: Duration = Duration::from_millis(25);

/// The longest that a look may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A look at the file: when, and the version that it had.
#[derive(Clone, Copy)]
struct Look {
    at: Instant,
    version: i64,
}

/// The eye that the lanes of a file share.
pub struct Watch {
    /// One connection: a version means something there only.
    watcher: Pool<Connector>,
    last: Mutex<Option<Look>>,
}

impl Watch {
    pub fn new(watcher: Pool<Connector>) -> Arc<Self> {
        Arc::new(Self { watcher, last: Mutex::new(None) })
    }

    pub async fn close(&self) {
        self.watcher.close().await;
    }

    async fn version(&self) -> Result<i64, sqlx::Error> {
        let mut lease = self.watcher.acquire().await?;
        let row = lease.bound(PATIENCE).run(lease.fetch_one("PRAGMA data_version")).await;
        lease.end(row.and_then(|row| row.try_get(0)))
    }

    /// The last look, or a new one where that is over. A file that can't be read now has no version.
    async fn look(&self) -> Option<Look> {
        let mut last = self.last.lock().await;
        if let Some(look) = last.filter(|look| look.at.elapsed() < LOOK) {
            return Some(look);
        }
        let version = self.version().await.ok();
        *last = version.map(|version| Look { at: Instant::now(), version });
        *last
    }
}

/// One lane's ear.
pub struct Waker {
    watch: Arc<Watch>,
    /// The version that this lane has seen.
    seen: AtomicI64,
}

impl Waker {
    pub fn new(watch: Arc<Watch>) -> Self {
        Self { watch, seen: AtomicI64::new(-1) }
    }

    /// Returns when rows were written, by us or by others, or at the deadline: the poll is always enough.
    pub async fn wait(&self, deadline: Instant) {
        loop {
            let look = self.watch.look().await;
            if look.is_some_and(|look| self.seen.swap(look.version, Ordering::Relaxed) != look.version) {
                return;
            }
            let next = look.map_or_else(Instant::now, |look| look.at) + LOOK;
            if next >= deadline {
                return tokio::time::sleep_until(deadline).await;
            }
            tokio::time::sleep_until(next).await;
        }
    }
}
