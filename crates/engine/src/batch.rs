//! The rows of one claim and their leases.
//!
//! A row's current lease is stored in its batch, because an extension may change the fence while the row is being
//! delivered. A slot is emptied when its row has been settled, handed back or lost; an empty batch needs no extension.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_seams::{ClaimedRow, Lease, LeaseCheck};

use crate::boot_instant::BootInstant;

/// The leases of one claim.
#[derive(Debug)]
pub(crate) struct Batch {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    slots: Vec<Option<Lease>>,
    /// The index of each row's run in `runs` (`None` without a group), and the number of rows still held of each run.
    run_of: Vec<Option<usize>>,
    runs: Vec<usize>,
    /// Whether each row belongs to a pool: when such a row ends, another row of the pool may be claimed.
    pooled: Vec<bool>,
    /// Whether the delivery of each row has begun: a crash is then counted against the row.
    begun: Vec<bool>,
    open: usize,
    /// The end of the leases by our own clock, counted from before the claim was sent: never later than the database's.
    runs_out: BootInstant,
}

/// A row that this worker holds, and a reference to its lease.
#[derive(Debug)]
pub(crate) struct HeldRow {
    pub row: ClaimedRow,
    pub lease: LeaseRef,
}

/// A reference to one slot of a batch.
#[derive(Debug, Clone)]
pub(crate) struct LeaseRef {
    batch: Arc<Batch>,
    slot: usize,
}

impl Batch {
    /// Splits a claim into its rows and the batch that stores their leases.
    pub fn open(rows: Vec<ClaimedRow>, asked: BootInstant, lease: Duration) -> (Arc<Self>, Vec<HeldRow>) {
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

    /// Locks the batch: none of its leases changes while the returned guard lives.
    #[cfg(test)]
    pub fn held_still(&self) -> impl Sized + '_ {
        self.lock()
    }

    /// Whether every row of the batch has been settled, handed back or lost.
    pub fn is_done(&self) -> bool {
        self.lock().open == 0
    }

    /// Returns the time until the leases run out, by our own clock.
    pub fn time_left(&self) -> Duration {
        self.lock().runs_out.left()
    }

    /// Returns the leases still held, each with its slot.
    pub fn leases(&self) -> Vec<(usize, Lease)> {
        let inner = self.lock();
        inner
            .slots
            .iter()
            .enumerate()
            .filter_map(|(slot, lease)| lease.clone().map(|lease| (slot, lease)))
            .collect()
    }

    /// Returns the leases of rows whose delivery has begun and that are not settled yet.
    pub fn begun(&self) -> Vec<Lease> {
        let inner = self.lock();
        let slots = inner.slots.iter().zip(&inner.begun);
        slots.filter(|(_, begun)| **begun).filter_map(|(lease, _)| lease.clone()).collect()
    }

    /// Stores the answers to an extension of some leases: new fences, or `None` for leases that were lost.
    pub fn extended(&self, answers: impl Iterator<Item = (usize, Option<Lease>)>) {
        let mut inner = self.lock();
        for (slot, lease) in answers {
            if inner.slots[slot].is_some() {
                if lease.is_none() {
                    inner.left(slot);
                }
                inner.slots[slot] = lease;
            }
        }
    }

    /// Stores the new end of the leases, once all of them are extended.
    pub fn extended_until(&self, runs_out: BootInstant) {
        self.lock().runs_out = runs_out;
    }
}

impl LeaseRef {
    /// Returns the lease as it is now; `None` once it was lost or its row settled.
    pub fn current(&self) -> Option<Lease> {
        self.batch.lock().slots[self.slot].clone()
    }

    /// Whether the lease is still held: neither lost nor settled.
    pub fn is_held(&self) -> bool {
        self.batch.lock().slots[self.slot].is_some()
    }

    /// Whether the row may be sent, by our own clock: not once the lease was lost, nor within `margin` of its end,
    /// because another worker may have the row by then.
    pub fn may_begin(&self, margin: Duration) -> bool {
        let inner = self.batch.lock();
        inner.slots[self.slot].is_some() && inner.runs_out.left() > margin
    }

    /// Returns the check of [`may_begin`](Self::may_begin) for a transport, in which the row may wait before it is
    /// sent.
    pub fn check(&self, margin: Duration) -> LeaseCheck {
        let lease = self.clone();
        LeaseCheck::new(move || lease.may_begin(margin))
    }

    /// Records that the delivery of the row begins.
    pub fn begin(&self) {
        self.batch.lock().begun[self.slot] = true;
    }

    /// Empties the slot: the row is settled, or this worker no longer holds it. Returns whether other rows may become
    /// claimable: the row was the last of its run, or belongs to a pool.
    pub fn close(&self) -> bool {
        let mut inner = self.batch.lock();
        inner.slots[self.slot].take().is_some() && inner.left(self.slot)
    }
}

impl Inner {
    /// Counts one row fewer; returns whether other rows may become claimable.
    fn left(&mut self, slot: usize) -> bool {
        self.open -= 1;
        let Some(run) = self.run_of[slot] else { return self.pooled[slot] };
        self.runs[run] -= 1;
        self.runs[run] == 0 || self.pooled[slot]
    }
}

/// Returns the index of each row's run, and the length of each run.
fn runs(rows: &[ClaimedRow]) -> (Vec<Option<usize>>, Vec<usize>) {
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

#[cfg(test)]
pub(crate) mod tests {
    use postrider_contract::Counters;
    use postrider_seams::RowId;

    use super::*;

    const LEASE: Duration = Duration::from_mins(1);

    pub fn held(rows: i64, asked: BootInstant) -> (Arc<Batch>, Vec<HeldRow>) {
        let claimed = |id| ClaimedRow {
            lease: Lease { id: RowId::Int(id), fence: Box::default() },
            counters: Counters::default(),
            crashes: 0,
            since_crash: 0,
            from: None,
            group: None,
            pool: None,
            share: None,
            waited_micros: 0,
            size: 0,
            fields: None,
        };
        Batch::open((0..rows).map(claimed).collect(), asked, LEASE)
    }

    #[test]
    fn g02_a_lease_runs_out_while_the_machine_is_suspended() {
        let (_, rows) = held(1, BootInstant::now());
        assert!(rows[0].lease.may_begin(Duration::from_secs(2)));
        let (batch, rows) = held(1, BootInstant::before_a_suspension(LEASE));
        assert!(!rows[0].lease.may_begin(Duration::from_secs(2)));
        assert_eq!(batch.time_left(), Duration::ZERO, "it is extended first, if the database still has it");
    }
}
