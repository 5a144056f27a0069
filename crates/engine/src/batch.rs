//! The rows of one claim, and the leases that they hang on.
//!
//! A row's current lease lives in its batch, because an extension may change the fence while the row is being
//! delivered. A slot is emptied when its row has been settled, handed back or lost; an empty batch needs no keeping.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_seams::{Claimed, Lease, LeaseCheck};
use tokio::time::Instant;

/// One claim's leases.
#[derive(Debug)]
pub(crate) struct Batch {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    slots: Vec<Option<Lease>>,
    /// The run that a slot is of, and how many rows of each run are still held.
    run_of: Vec<Option<usize>>,
    runs: Vec<usize>,
    /// The end of such a row may let another of its pool go.
    pooled: Vec<bool>,
    /// Those whose delivery has begun: a crash is counted against them.
    begun: Vec<bool>,
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
        let (run_of, runs) = runs(&rows);
        let pooled = rows.iter().map(|row| row.pool.is_some()).collect();
        let begun = vec![false; open];
        let inner = Inner { slots, run_of, runs, pooled, begun, open, runs_out: asked + lease };
        let batch = Arc::new(Self { inner: Mutex::new(inner) });
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

    /// Nothing about its leases changes while this lives.
    #[cfg(test)]
    pub fn held_still(&self) -> impl Sized + '_ {
        self.lock()
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

    /// The leases of rows whose delivery has begun and that are not settled yet.
    pub fn begun(&self) -> Vec<Lease> {
        let inner = self.lock();
        let slots = inner.slots.iter().zip(&inner.begun);
        slots.filter(|(_, begun)| **begun).filter_map(|(lease, _)| lease.clone()).collect()
    }

    /// Takes over what an extension answered: new fences, or `None` for leases that were lost.
    pub fn extended(&self, answers: Vec<(usize, Option<Lease>)>, runs_out: Instant) {
        let mut inner = self.lock();
        for (slot, lease) in answers {
            if inner.slots[slot].is_some() {
                if lease.is_none() {
                    inner.left(slot);
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

    /// May the row be sent, by our own clock? Not once the lease was lost, nor within `margin` of its end: another worker may
    /// have the row by then.
    pub fn may_begin(&self, margin: Duration) -> bool {
        let inner = self.batch.lock();
        inner.slots[self.slot].is_some() && inner.runs_out > Instant::now() + margin
    }

    /// The same for a transport, in which the row may wait.
    pub fn check(&self, margin: Duration) -> LeaseCheck {
        let lease = self.clone();
        LeaseCheck::new(move || lease.may_begin(margin))
    }

    /// Its delivery begins.
    pub fn begin(&self) {
        self.batch.lock().begun[self.slot] = true;
    }

    /// The row is settled, or nobody's of ours any more. May that let others go: was it the last of its run, or of a
    /// pool?
    pub fn close(&self) -> bool {
        let mut inner = self.batch.lock();
        inner.slots[self.slot].take().is_some() && inner.left(self.slot)
    }
}

impl Inner {
    /// One row fewer; may that let others go?
    fn left(&mut self, slot: usize) -> bool {
        self.open -= 1;
        let Some(run) = self.run_of[slot] else { return self.pooled[slot] };
        self.runs[run] -= 1;
        self.runs[run] == 0 || self.pooled[slot]
    }
}

/// Which run each row is of, and how long each is.
fn runs(rows: &[Claimed]) -> (Vec<Option<usize>>, Vec<usize>) {
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut lengths: Vec<usize> = Vec::new();
    let run_of = rows
        .iter()
        .map(|row| {
            let key = &*row.group.as_ref()?.key;
            let run = *known.entry(key).or_insert_with(|| {
                lengths.push(0);
                lengths.len() - 1
            });
            lengths[run] += 1;
            Some(run)
        })
        .collect();
    (run_of, lengths)
}
