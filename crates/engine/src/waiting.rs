//! The queue of claimed rows that wait for delivery; rows of an ordered group form one run. Clients are served
//! round-robin, and none can occupy all deliveries (`fair_queue.rs`). Bounded by the claimer, which never holds more rows
//! than its limit.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::batch::HeldRow;
use crate::fair_queue::{FairQueue, FairShareLimit, FairnessKey, HasFairnessKey};

/// The rows and runs of one lane that wait for delivery.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    inner: Mutex<Inner>,
    arrived: Notify,
}

/// The rows of one ordered group, in order. A group has at most one run here: its rows are claimed again only once all
/// are settled.
pub(crate) type Run = VecDeque<HeldRow>;

impl HasFairnessKey for Run {
    fn fairness_key(&self) -> FairnessKey {
        self.front().and_then(HasFairnessKey::fairness_key)
    }
}

#[derive(Debug, Default)]
struct Inner {
    rows: FairQueue<HeldRow>,
    runs: FairQueue<Run>,
    /// The deliveries in flight per share, and all of them.
    fair_share: FairShareLimit,
    in_flight: usize,
    /// Whether runs are taken next; rows and runs alternate if both wait.
    runs_next: bool,
    /// Deliverers that found nothing and wait.
    idle: usize,
    closed: bool,
}

/// The rows or runs of one delivery.
#[derive(Debug)]
pub(crate) enum NextDelivery {
    Rows(Vec<HeldRow>),
    Runs(Vec<Run>),
}

/// A delivery in flight; dropped when it is over.
#[derive(Debug)]
pub(crate) struct InFlightGuard<'a> {
    waiting: &'a Waiting,
    share: FairnessKey,
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        let mut inner = self.waiting.lock();
        inner.in_flight -= 1;
        inner.fair_share.record_end(&self.share);
        if !inner.is_empty() {
            self.waiting.arrived.notify_one();
        }
    }
}

impl Inner {
    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.runs.is_empty()
    }

    /// Takes the next delivery; `None` if nothing waits, or no delivery, or none of a share that waits, may begin.
    fn take(&mut self, portion: Portion, at_most: usize) -> Option<(NextDelivery, FairnessKey)> {
        let free = at_most.saturating_sub(self.in_flight);
        if self.is_empty() || free == 0 {
            return None;
        }
        let runs = !self.runs.is_empty() && (self.runs_next || self.rows.is_empty());
        if self.fair_share.is_bounded() {
            return self.take_one(runs);
        }
        self.runs_next = !runs;
        let even = |waiting: usize| waiting.div_ceil(portion.workers.max(1)).clamp(1, portion.most.max(1));
        if !runs {
            let rows = even(self.rows.len());
            return Some((NextDelivery::Rows(self.rows.take(rows)), None));
        }
        if !portion.whole_runs {
            // One row of each run is sent and the run comes back. Dividing the runs by all workers, busy ones too,
            // would soon lead to calls with a single row.
            let takers = free.min(self.idle + 1);
            let runs = self.runs.len().div_ceil(takers).clamp(1, portion.most.max(1));
            return Some((NextDelivery::Runs(self.runs.take(runs)), None));
        }
        let mut taken: Vec<Run> = Vec::new();
        let (mut rows, most_runs) = (0, even(self.runs.len()));
        while let Some(run) = self.runs.peek() {
            rows += run.len();
            if !taken.is_empty() && (taken.len() >= most_runs || rows > portion.most) {
                break;
            }
            taken.extend(self.runs.take(1));
        }
        Some((NextDelivery::Runs(taken), None))
    }

    /// Takes one row of a share that may begin one more delivery.
    fn take_one(&mut self, runs_first: bool) -> Option<(NextDelivery, FairnessKey)> {
        for runs in [runs_first, !runs_first] {
            let may_begin = |share: &FairnessKey| self.fair_share.may_begin(share);
            let next = if runs {
                self.runs.next(may_begin).map(|run| (run.fairness_key(), NextDelivery::Runs(vec![run])))
            } else {
                self.rows.next(may_begin).map(|row| (row.fairness_key(), NextDelivery::Rows(vec![row])))
            };
            if let Some((share, next)) = next {
                self.runs_next = !runs;
                self.fair_share.record_begin(share.clone());
                return Some((next, share));
            }
        }
        None
    }
}

/// The limits of one delivery.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Portion {
    /// The maximum number of rows.
    pub most: usize,
    /// The number of deliverers that share the waiting rows.
    pub workers: usize,
    /// Whether a run is sent in one call, because the transport keeps its order.
    pub whole_runs: bool,
}

impl Waiting {
    /// Creates a queue that limits the share of each client in `room` concurrent deliveries of one row each; `None` if
    /// calls carry many rows, or rows have no fairness key.
    pub fn with_room(room: Option<usize>) -> Self {
        let inner = Inner { fair_share: FairShareLimit::with_room(room), ..Inner::default() };
        Self { inner: Mutex::new(inner), ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues the rows of a claim, which are in the order of their groups.
    pub fn push(&self, rows: Vec<HeldRow>) {
        if rows.is_empty() {
            return;
        }
        let mut runs: Vec<Run> = Vec::new();
        let mut known: HashMap<Arc<str>, usize> = HashMap::new();
        let mut inner = self.lock();
        for held in rows {
            let Some(group) = &held.row.group else {
                inner.rows.push(held);
                continue;
            };
            let at = *known.entry(Arc::clone(&group.key)).or_insert_with(|| {
                runs.push(Run::new());
                runs.len() - 1
            });
            runs[at].push_back(held);
        }
        for run in runs {
            inner.runs.push(run);
        }
        // `Notify` stores at most one permit, so a worker that takes rows wakes the next one while rows are left.
        self.arrived.notify_one();
    }

    /// Returns the rest of a run to the end of the queue.
    pub fn put_back(&self, run: Run) {
        if !run.is_empty() {
            self.lock().runs.push(run);
            self.arrived.notify_one();
        }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// The number of rows that wait, including those of runs.
    pub fn rows(&self) -> usize {
        let inner = self.lock();
        inner.rows.len() + inner.runs.iter().map(Run::len).sum::<usize>()
    }

    /// Waits for and takes the rows of one delivery: an even part of what waits, so that a short queue is spread over
    /// all workers (latency) and a long one is sent in full batches (throughput). `at_most` says, at the moment when
    /// rows could be taken, how many deliveries may be in flight. `None` once closed and empty.
    pub async fn take(
        &self,
        portion: Portion,
        at_most: impl Fn() -> usize,
    ) -> Option<(NextDelivery, InFlightGuard<'_>)> {
        let mut idle = 0;
        loop {
            {
                let mut inner = self.lock();
                inner.idle -= std::mem::take(&mut idle);
                if let Some((next, share)) = inner.take(portion, at_most()) {
                    inner.in_flight += 1;
                    if !inner.is_empty() {
                        self.arrived.notify_one();
                    }
                    return Some((next, InFlightGuard { waiting: self, share }));
                }
                if inner.closed && inner.is_empty() {
                    // Wake the next waiter, so that it sees the end too.
                    self.arrived.notify_one();
                    return None;
                }
                idle = 1;
                inner.idle += idle;
            }
            self.arrived.notified().await;
        }
    }

    /// Takes everything that waits, to be handed back.
    pub fn take_all(&self) -> (Vec<HeldRow>, Vec<Run>) {
        let mut inner = self.lock();
        (inner.rows.take(usize::MAX), inner.runs.take(usize::MAX))
    }

    /// Takes about `most` of the last rows of the share that has most waiting, to be handed back and make room for
    /// others.
    pub fn evict(&self, most: usize) -> (Vec<HeldRow>, Vec<Run>) {
        let mut inner = self.lock();
        let rows = inner.rows.evict(most, |_| 1);
        let left = most.saturating_sub(rows.len());
        let runs = if left == 0 { Vec::new() } else { inner.runs.evict(left, Run::len) };
        (rows, runs)
    }

    /// Closes the queue: no more rows will be pushed; deliverers finish what is there.
    pub fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }
}
