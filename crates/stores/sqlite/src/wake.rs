//! Wakes lanes: what this process has committed wakes them at once, and `PRAGMA data_version` changes when another connection, of any process, has committed. Reading it needs
//! no lock and no disk access; all lanes of a file share one read.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use postrider_seams::WakeUp;
use postrider_sql::driver::pool::Pool;
use sqlx::{Executor as _, Row as _};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::session::Connector;

/// Polling interval: the longest delay of a new row while nothing else is due.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Time limit of one read.
const PATIENCE: Duration = Duration::from_secs(5);

/// One read of the version, and its time.
#[derive(Clone, Copy)]
struct VersionRead {
    at: Instant,
    version: i64,
}

/// The `data_version` watcher that the lanes of a file share.
pub struct Watch {
    /// A single connection: versions are comparable only within one.
    watcher: Pool<Connector>,
    last: Mutex<Option<VersionRead>>,
}

impl Watch {
    /// Creates a watcher on a pool of one connection.
    pub fn new(watcher: Pool<Connector>) -> Arc<Self> {
        Arc::new(Self { watcher, last: Mutex::new(None) })
    }

    /// Closes the watcher's connection.
    pub async fn close(&self) {
        self.watcher.close().await;
    }

    async fn version(&self) -> Result<i64, sqlx::Error> {
        let mut connection = self.watcher.acquire().await?;
        let row = connection.deadline(PATIENCE).run(connection.fetch_one("PRAGMA data_version")).await;
        connection.end(row.and_then(|row| row.try_get(0)))
    }

    /// Returns the last read, or a new one if that is too old; `None` if the file cannot be read now.
    async fn read_version(&self) -> Option<VersionRead> {
        let mut last = self.last.lock().await;
        if let Some(read) = last.filter(|read| read.at.elapsed() < POLL_INTERVAL) {
            return Some(read);
        }
        let version = self.version().await.ok();
        *last = version.map(|version| VersionRead { at: Instant::now(), version });
        *last
    }
}

/// The wake-ups of one lane.
pub struct RowNotifier {
    watch: Arc<Watch>,
    wake_up: WakeUp,
    /// The last version that this lane has seen.
    seen: AtomicI64,
}

impl RowNotifier {
    /// Creates the wake-ups of a lane; its first wait returns at once.
    pub fn new(watch: Arc<Watch>, wake_up: WakeUp) -> Self {
        Self { watch, wake_up, seen: AtomicI64::new(-1) }
    }

    /// Returns the lane's wake-ups.
    pub fn wake_up(&self) -> &WakeUp {
        &self.wake_up
    }

    /// Returns when any connection has written, or at the deadline: polling alone is sufficient for correctness.
    pub async fn wait(&self, deadline: Instant) {
        loop {
            let read = self.watch.read_version().await;
            if read.is_some_and(|read| self.seen.swap(read.version, Ordering::Relaxed) != read.version) {
                return;
            }
            let next = read.map_or_else(Instant::now, |read| read.at) + POLL_INTERVAL;
            tokio::select! {
                biased;
                () = self.wake_up.woken() => return,
                () = tokio::time::sleep_until(next.min(deadline)) => {}
            }
            if next >= deadline {
                return;
            }
        }
    }
}
