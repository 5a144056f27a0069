//! Rows that were claimed and wait for a delivery. Bounded by the claimer, which never holds more than its limit.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::batch::HeldRow;

#[derive(Debug, Default)]
pub(crate) struct Waiting {
    inner: Mutex<Inner>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    rows: VecDeque<HeldRow>,
    closed: bool,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, rows: Vec<HeldRow>) {
        let count = rows.len();
        self.lock().rows.extend(rows);
        // One permit is stored at most, so a worker that takes rows wakes the next while any are left.
        if count > 0 {
            self.arrived.notify_one();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.lock().rows.is_empty()
    }

    /// The next rows for one delivery: an even share of what waits, so that a short queue is spread over all workers
    /// (latency) and a long one goes in full batches (throughput). `None` once closed and empty.
    pub async fn take(&self, most: usize, workers: usize) -> Option<Vec<HeldRow>> {
        loop {
            {
                let mut inner = self.lock();
                if !inner.rows.is_empty() {
                    let share = inner.rows.len().div_ceil(workers.max(1)).clamp(1, most.max(1));
                    let rows = inner.rows.drain(..share).collect();
                    if !inner.rows.is_empty() {
                        self.arrived.notify_one();
                    }
                    return Some(rows);
                }
                if inner.closed {
                    // The next waiter must see it too.
                    self.arrived.notify_one();
                    return None;
                }
            }
            self.arrived.notified().await;
        }
    }

    /// Everything that waits, to be handed back.
    pub fn take_all(&self) -> Vec<HeldRow> {
        self.lock().rows.drain(..).collect()
    }

    /// No more rows will come; takers finish what is there.
    pub fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }
}
