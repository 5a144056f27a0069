//! The rows of one claim, and the leases that they hang on.
//!
//! A row's current lease lives in its batch, because an extension may change the fence while the row is being
//! delivered. A slot is emptied when its row has been settled, handed back or lost; an empty batch needs no keeping.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_seams::{Claimed, Lease};
use tokio::time::Instant;

/// One claim's leases.
#[derive(Debug)]
pub(crate) struct Batch {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    slots: Vec<Option<Lease>>,
    open: usize,
    /// By our own clock, counted from before the claim was sent, so it is never later than the database's.
    runs_out: Instant,
}

/// A row that this worker holds, and where its lease is kept.
#[derive(Debug)]
pub(crate) struct HeldRow {
    pub row: Claimed,
    pub lease: LeaseRef,
}

/// Points at one slot of a batch.
#[derive(Debug, Clone)]
pub(crate) struct LeaseRef {
    batch: Arc<Batch>,
    slot: usize,
}

impl Batch {
    /// Splits a claim into rows and the batch that keeps their leases.
    pub fn open(rows: Vec<Claimed>, asked: Instant, lease: Duration) -> (Arc<Self>, Vec<HeldRow>) {
        let slots: Vec<_> = rows.iter().map(|row| Some(row.lease.clone())).collect();
        let open = slots.len();
        let batch = Arc::new(Self { inner: Mutex::new(Inner { slots, open, runs_out: asked + lease }) });
        let held = rows
            .into_iter()
            .enumerate()
            .map(|(slot, row)| HeldRow { row, lease: LeaseRef { batch: Arc::clone(&batch), slot } })
            .collect();
        (batch, held)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_done(&self) -> bool {
        self.lock().open == 0
    }

    pub fn runs_out(&self) -> Instant {
        self.lock().runs_out
    }

    /// The leases still held, each with its slot.
    pub fn leases(&self) -> Vec<(usize, Lease)> {
        let inner = self.lock();
        inner
            .slots
            .iter()
            .enumerate()
            .filter_map(|(slot, lease)| lease.clone().map(|lease| (slot, lease)))
            .collect()
    }

    /// Takes over what an extension answered: new fences, or `None` for leases that were lost.
    pub fn extended(&self, answers: Vec<(usize, Option<Lease>)>, runs_out: Instant) {
        let mut inner = self.lock();
        for (slot, lease) in answers {
            if inner.slots[slot].is_some() {
                if lease.is_none() {
                    inner.open -= 1;
                }
                inner.slots[slot] = lease;
            }
        }
        inner.runs_out = runs_out;
    }
}

impl LeaseRef {
    /// The lease as it is now; `None` once lost or settled.
    pub fn current(&self) -> Option<Lease> {
        self.batch.lock().slots[self.slot].clone()
    }

    pub fn is_held(&self) -> bool {
        self.batch.lock().slots[self.slot].is_some()
    }

    pub fn runs_out(&self) -> Instant {
        self.batch.runs_out()
    }

    /// The row is settled, or nobody's of ours any more.
    pub fn close(&self) {
        let mut inner = self.batch.lock();
        if inner.slots[self.slot].take().is_some() {
            inner.open -= 1;
        }
    }
}
