//! Waking: `PRAGMA data_version` tells that another connection, of any process, has committed. Reading it costs no
//! lock and no disk; the lanes of a file look at the same moments, so that one read serves them all.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use sqlx::sqlite::SqlitePool;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// Between two looks: what a new row waits at most, where nothing is due.
const LOOK: Duration = Duration::from_millis(25);

/// A look at the file: when, and the version that it had.
#[derive(Clone, Copy)]
struct Look {
    at: Instant,
    version: i64,
}

/// The eye that the lanes of a file share.
pub struct Watch {
    /// One connection: a version means something there only.
    watcher: SqlitePool,
    last: Mutex<Option<Look>>,
}

impl Watch {
    pub fn new(watcher: SqlitePool) -> Arc<Self> {
        Arc::new(Self { watcher, last: Mutex::new(None) })
    }

    pub async fn close(&self) {
        self.watcher.close().await;
    }

    /// The last look, or a new one where that is over. A file that can't be read now has no version.
    async fn look(&self) -> Option<Look> {
        let mut last = self.last.lock().await;
        if let Some(look) = last.filter(|look| look.at.elapsed() < LOOK) {
            return Some(look);
        }
        let version = sqlx::query_scalar::<_, i64>("PRAGMA data_version").fetch_one(&self.watcher).await.ok();
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
