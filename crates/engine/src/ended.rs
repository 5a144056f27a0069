//! Outcomes that wait to be settled. Bounded by the rows held: a row is in flight or here, never both.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::Lease;
use postrider_seams::row::Detail;
use postrider_seams::store::Settlement;
use tokio::sync::Notify;

use crate::batch::LeaseRef;

/// One decided move, waiting for the store.
#[derive(Debug)]
pub(crate) struct Ended {
    pub lease: LeaseRef,
    pub transition: Transition,
    pub delay: Duration,
    pub reason: Option<String>,
    pub receipt: Option<String>,
    pub envelope: Detail,
    pub outcome: Detail,
    /// Rows of its group behind it, never tried, that are handed back with it.
    pub rest: Vec<LeaseRef>,
}

impl Ended {
    /// A move with nothing to say: hand the row back, unspent.
    pub fn released(lease: LeaseRef) -> Self {
        Self {
            lease,
            transition: Transition::Released,
            delay: Duration::ZERO,
            reason: None,
            receipt: None,
            envelope: Detail::new(),
            outcome: Detail::new(),
            rest: Vec::new(),
        }
    }

    /// Is the row to be tried once more?
    pub fn comes_again(&self) -> bool {
        matches!(self.transition, Transition::Retry | Transition::Deferred | Transition::Released)
    }

    /// Rows that this is about.
    pub fn rows(&self) -> usize {
        1 + self.rest.len()
    }

    /// Its rows are nobody's of ours any more. May that let others go?
    pub fn close(&self) -> bool {
        let over = self.rest.iter().filter(|lease| lease.close()).count();
        self.lease.close() || over > 0
    }

    /// The settlements under the leases as they are now; those that were lost are left out.
    pub fn settlements(&self) -> Vec<Settlement> {
        let rest: Vec<Lease> = self.rest.iter().filter_map(LeaseRef::current).collect();
        match self.settlement() {
            Some(own) => vec![Settlement { hands_back: rest, ..own }],
            None => rest.into_iter().map(Settlement::released).collect(),
        }
    }

    fn settlement(&self) -> Option<Settlement> {
        Some(Settlement {
            lease: self.lease.current()?,
            hands_back: Vec::new(),
            transition: self.transition,
            delay: self.delay,
            reason: self.reason.clone(),
            receipt: self.receipt.clone(),
            envelope: self.envelope.clone(),
            outcome: self.outcome.clone(),
        })
    }
}

#[derive(Debug, Default)]
pub(crate) struct EndedRows {
    inner: Mutex<Inner>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    rows: VecDeque<Ended>,
    closed: bool,
}

impl EndedRows {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, rows: Vec<Ended>) {
        if rows.is_empty() {
            return;
        }
        self.lock().rows.extend(rows);
        self.arrived.notify_one();
    }

    /// Up to `most` outcomes: at once if that many wait, else as soon as no more come within a `linger`, or after a few
    /// of them. Full batches are what makes settles cheap, and a quiet lane need not wait for one. `None` once closed
    /// and empty.
    pub async fn take(&self, most: usize, linger: Duration) -> Option<Vec<Ended>> {
        let mut lingers = Lingers::default();
        loop {
            {
                let mut inner = self.lock();
                let waiting = inner.rows.len();
                if waiting >= most || (waiting > 0 && (inner.closed || lingers.are_over(waiting))) {
                    let rows = inner.rows.drain(..waiting.min(most)).collect();
                    if !inner.rows.is_empty() {
                        self.arrived.notify_one();
                    }
                    return Some(rows);
                }
                if inner.closed {
                    self.arrived.notify_one();
                    return None;
                }
                if waiting == 0 {
                    lingers = Lingers::default();
                }
            }
            if lingers.seen > 0 {
                tokio::time::sleep(linger).await;
            } else {
                self.arrived.notified().await;
            }
        }
    }

    pub fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }
}

/// How many lingers in a row wait for a full batch while outcomes keep coming.
const MOST_LINGERS: u32 = 5;

/// Waiting for more: goes on while more come, within limits.
#[derive(Debug, Default)]
struct Lingers {
    /// Outcomes at the last look.
    seen: usize,
    count: u32,
}

impl Lingers {
    /// Looks again: did none come since the last look, or was that the last one?
    fn are_over(&mut self, waiting: usize) -> bool {
        let over = self.count > 0 && (waiting == self.seen || self.count >= MOST_LINGERS);
        self.seen = waiting;
        self.count += 1;
        over
    }
}
