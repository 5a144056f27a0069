//! The queue of outcomes that wait to be settled. Bounded by the rows held: a row is in flight or here, never both.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::Lease;
use postrider_seams::row::Detail;
use postrider_seams::store::Settlement;
use tokio::sync::Notify;

use crate::batch::LeaseRef;

/// A decided move that waits to be written to the store.
#[derive(Debug)]
pub(crate) struct Ended {
    pub lease: LeaseRef,
    pub transition: Transition,
    pub delay: Duration,
    pub reason: Option<String>,
    pub receipt: Option<String>,
    pub envelope: Detail,
    pub outcome: Detail,
    /// Rows of the same group behind this one, never tried, that are handed back with it.
    pub rest: Vec<LeaseRef>,
}

impl Ended {
    /// Creates a move that hands the row back without counting an attempt.
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

    /// Whether the row will be tried again.
    pub fn comes_again(&self) -> bool {
        matches!(self.transition, Transition::Retry | Transition::Deferred | Transition::Released)
    }

    /// The number of rows that this move concerns.
    pub fn rows(&self) -> usize {
        1 + self.rest.len()
    }

    /// Closes the leases of its rows: this worker no longer holds them. Returns whether other rows may become
    /// claimable.
    pub fn close(&self) -> bool {
        let over = self.rest.iter().filter(|lease| lease.close()).count();
        self.lease.close() || over > 0
    }

    /// Returns the settlements with the current leases; rows whose lease was lost are left out.
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

    /// Queues outcomes for the settlers.
    pub fn push(&self, rows: Vec<Ended>) {
        if rows.is_empty() {
            return;
        }
        self.lock().rows.extend(rows);
        self.arrived.notify_one();
    }

    /// Takes up to `most` outcomes: immediately if that many wait, otherwise once none arrived during a `linger`, or
    /// after [`MOST_LINGERS`]. Full batches make settles cheap, and a quiet lane need not wait for one. `None` once
    /// closed and empty.
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

    /// Closes the queue: settlers take what is left, then end.
    pub fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }
}

/// The most lingers in a row that wait for a full batch while outcomes keep arriving.
const MOST_LINGERS: u32 = 5;

/// Counts the lingers of one `take`, which waits while more outcomes arrive, within limits.
#[derive(Debug, Default)]
struct Lingers {
    /// Outcomes waiting at the last check.
    seen: usize,
    count: u32,
}

impl Lingers {
    /// Whether to stop waiting: none arrived since the last check, or this was the last linger.
    fn are_over(&mut self, waiting: usize) -> bool {
        let over = self.count > 0 && (waiting == self.seen || self.count >= MOST_LINGERS);
        self.seen = waiting;
        self.count += 1;
        over
    }
}
