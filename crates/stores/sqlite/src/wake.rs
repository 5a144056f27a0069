//! Waking: `PRAGMA data_version` tells that another connection, of any process, has committed. Reading it costs no
//! lock and no disk.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use sqlx::sqlite::SqlitePool;
use tokio::time::Instant;

/// Between two looks: what a new row waits at most, where nothing is due.
const LOOK: Duration = Duration::from_millis(25);

/// One lane's ear.
pub struct Waker {
    watcher: SqlitePool,
    /// The version that this lane has seen. It means something on the watcher's one connection only.
    seen: AtomicI64,
}

impl Waker {
    pub fn new(watcher: SqlitePool) -> Self {
        Self { watcher, seen: AtomicI64::new(-1) }
    }

    /// Returns when rows were written, by us or by others, or at the deadline.
    pub async fn wait(&self, deadline: Instant) {
        loop {
            if self.changed().await {
                return;
            }
            if Instant::now() + LOOK >= deadline {
                return tokio::time::sleep_until(deadline).await;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// A file that can't be read now wakes nobody: the poll is always enough.
    async fn changed(&self) -> bool {
        let version = sqlx::query_scalar::<_, i64>("PRAGMA data_version").fetch_one(&self.watcher).await;
        version.is_ok_and(|version| self.seen.swap(version, Ordering::Relaxed) != version)
    }
}
