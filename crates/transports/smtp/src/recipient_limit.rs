//! The maximum number of recipients that the relay accepts per transaction, learnt from its replies. Shared by all
//! connections, so that a new one need not learn it again.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Time after which the limit is tried again: limits change, and a bare 452 may have meant something else.
const VALID_FOR: Duration = Duration::from_mins(10);

#[derive(Debug, Default)]
pub(crate) struct RecipientLimit(Mutex<Option<(usize, Instant)>>);

impl RecipientLimit {
    /// Returns the limit, `None` while the relay has not complained.
    pub(crate) fn get(&self) -> Option<usize> {
        self.lock().filter(|(_, since)| since.elapsed() < VALID_FOR).map(|(limit, _)| limit)
    }

    pub(crate) fn learn(&self, limit: usize) {
        *self.lock() = Some((limit, Instant::now()));
    }

    /// Forgets the limit: what was learnt was not the limit of a transaction.
    pub(crate) fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<(usize, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
