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
use crate::first_rows::FirstRows;

/// A decided move that waits to be written to the store.
#[derive(Debug)]
pub(crate) struct DecidedRow {
    pub lease: LeaseRef,
    pub transition: Transition,
    pub delay: Duration,
    pub reason: Option<String>,
    pub receipt: Option<String>,
    pub envelope: Detail,
    pub outcome: Detail,
    /// Rows of the same group behind this one, never tried, that are handed back with it.
    pub behind: Vec<LeaseRef>,
}

impl DecidedRow {
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
            behind: Vec::new(),
        }
    }

    /// Creates a move that hands back rows of one group together; `None` without rows.
    pub fn released_together(leases: Vec<LeaseRef>) -> Option<Self> {
        let mut leases = leases.into_iter();
        let first = leases.next()?;
        Some(Self { behind: leases.collect(), ..Self::released(first) })
    }

    /// Whether the row will be tried again.
    pub fn comes_again(&self) -> bool {
        matches!(self.transition, Transition::Retry | Transition::Deferred | Transition::Released)
    }

    /// The number of rows that this move concerns.
    pub fn rows(&self) -> usize {
        1 + self.behind.len()
    }

    /// The size of its texts.
    fn bytes(&self) -> usize {
        let values = self.envelope.values().chain(self.outcome.values());
        let texts = values.filter_map(|value| value.as_text()).map(str::len);
        let own = [&self.reason, &self.receipt].into_iter().flatten().map(String::len);
        texts.chain(own).sum()
    }

    /// Closes the leases of its rows: this worker no longer holds them. Returns whether other rows may become
    /// claimable.
    pub fn close(&self) -> bool {
        let over = self.behind.iter().filter(|lease| lease.close()).count();
        self.lease.close() || over > 0
    }

    /// Returns the settlements with the current leases; rows whose lease was lost are left out.
    pub fn settlements(&self) -> Vec<Settlement> {
        let behind: Vec<Lease> = self.behind.iter().filter_map(LeaseRef::current).collect();
        match self.settlement() {
            Some(own) => vec![Settlement { releases: behind, ..own }],
            None => behind.into_iter().map(Settlement::released).collect(),
        }
    }

    fn settlement(&self) -> Option<Settlement> {
        Some(Settlement {
            lease: self.lease.current()?,
            releases: Vec::new(),
            transition: self.transition,
            delay: self.delay,
            reason: self.reason.clone(),
            receipt: self.receipt.clone(),
            envelope: self.envelope.clone(),
            outcome: self.outcome.clone(),
        })
    }
}

/// The outcomes of one lane that wait for a settler.
#[derive(Debug)]
pub(crate) struct OutcomeQueue {
    inner: Mutex<Inner>,
    /// Keeps back rejections while the contract is new.
    pub first_rows: FirstRows,
    arrived: Notify,
    sizes: SettleSizes,
    /// Notified when a whole batch waits.
    full: Notify,
}

/// How many outcomes one settle takes at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SettleSizes {
    pub near: usize,
    /// While the database is distant, so that each round trip settles more rows.
    pub distant: usize,
}

/// The bytes of outcomes (reasons, responses) up to which a settle takes more than the near size: one statement must
/// not become larger than a database accepts.
const DISTANT_BYTES: usize = 2 << 20;

#[derive(Debug, Default)]
struct Inner {
    rows: VecDeque<DecidedRow>,
    closed: bool,
}

impl OutcomeQueue {
    /// Creates a queue from which settlers take up to so many outcomes at once.
    pub fn new(sizes: SettleSizes) -> Self {
        let (inner, arrived, full) = (Mutex::default(), Notify::new(), Notify::new());
        let near = sizes.near.max(1);
        let sizes = SettleSizes { near, distant: sizes.distant.max(near) };
        Self { inner, first_rows: FirstRows::new(false), arrived, sizes, full }
    }

    /// Keeps back rejections until the contract is judged, if it is new.
    #[must_use]
    pub fn watching(self, is_new: bool) -> Self {
        Self { first_rows: FirstRows::new(is_new), ..self }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues outcomes for the settlers.
    pub fn push(&self, rows: Vec<DecidedRow>) {
        if !rows.is_empty() {
            self.settle_now(self.first_rows.pass(rows));
        }
    }

    /// Queues the outcomes that were kept back long enough.
    pub fn push_kept(&self) {
        self.settle_now(self.first_rows.take_kept(false));
    }

    /// Queues outcomes that are not kept back.
    pub fn settle_now(&self, rows: Vec<DecidedRow>) {
        if rows.is_empty() {
            return;
        }
        let mut inner = self.lock();
        inner.rows.extend(rows);
        if inner.rows.len() >= self.sizes.near {
            self.full.notify_one();
        }
        drop(inner);
        self.arrived.notify_one();
    }

    /// Waits until a whole batch waits while the database is distant, and takes it; `None` if the queue is closed.
    pub async fn take_full(&self, is_distant: impl Fn() -> bool) -> Option<Vec<DecidedRow>> {
        loop {
            self.full.notified().await;
            let mut inner = self.lock();
            if inner.closed {
                // Wake the next waiter, so that it sees the end too.
                self.full.notify_one();
                return None;
            }
            if inner.rows.len() >= self.sizes.distant && is_distant() {
                let rows = self.drain(&mut inner, self.sizes.distant);
                if inner.rows.len() >= self.sizes.distant {
                    self.full.notify_one();
                }
                return Some(rows);
            }
        }
    }

    /// Takes up to a batch of outcomes: immediately if that many wait, otherwise once none arrived during a `linger`,
    /// or after [`MOST_LINGERS`]. Full batches make settles cheap, and a quiet lane need not wait for one. `None` once
    /// closed and empty.
    pub async fn take(&self, linger: Duration, is_distant: impl Fn() -> bool) -> Option<Vec<DecidedRow>> {
        let mut lingers = Lingers::default();
        loop {
            let most = if is_distant() { self.sizes.distant } else { self.sizes.near };
            {
                let mut inner = self.lock();
                let waiting = inner.rows.len();
                if waiting >= most || (waiting > 0 && (inner.closed || lingers.are_over(waiting))) {
                    let rows = self.drain(&mut inner, most);
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

    /// Takes up to `most` outcomes; beyond the near size only as many as their texts leave a statement small.
    fn drain(&self, inner: &mut Inner, most: usize) -> Vec<DecidedRow> {
        let mut bytes = 0;
        let mut taken = 0;
        for row in inner.rows.iter().take(most) {
            bytes += row.bytes();
            if taken >= self.sizes.near && bytes > DISTANT_BYTES {
                break;
            }
            taken += 1;
        }
        inner.rows.drain(..taken).collect()
    }

    /// Closes the queue: settlers take what is left, then end.
    pub fn close(&self) {
        self.settle_now(self.first_rows.take_kept(true));
        self.lock().closed = true;
        self.arrived.notify_one();
        self.full.notify_one();
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

#[cfg(test)]
mod tests;
