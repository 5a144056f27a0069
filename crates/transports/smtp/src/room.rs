//! The most recipients that the relay accepts in one transaction, as it said itself. Shared by all connections, so that a new
//! one need not find it out again.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Limits change, and a bare 452 may have meant something else: what was learnt is tried again after this long.
const FRESH: Duration = Duration::from_mins(10);

#[derive(Debug, Default)]
pub(crate) struct Room(Mutex<Option<(usize, Instant)>>);

impl Room {
    /// `None` while the relay has not complained.
    pub(crate) fn get(&self) -> Option<usize> {
        self.lock().filter(|(_, since)| since.elapsed() < FRESH).map(|(most, _)| most)
    }

    pub(crate) fn learn(&self, most: usize) {
        *self.lock() = Some((most, Instant::now()));
    }

    fn lock(&self) -> MutexGuard<'_, Option<(usize, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
