//! Rows that were claimed and wait for a delivery, those of an ordered group as one run. Bounded by the claimer, which
//! never holds more than its limit.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::batch::HeldRow;
use crate::turns::Turns;

#[derive(Debug, Default)]
pub(crate) struct Waiting {
    inner: Mutex<Inner>,
    arrived: Notify,
}

/// Rows of one ordered group, in their order. A group has one run here at most: its rows are claimed again only when
/// all are settled.
pub(crate) type Run = VecDeque<HeldRow>;

#[derive(Debug, Default)]
struct Inner {
    rows: Turns,
    runs: VecDeque<Run>,
    /// Turn and turn about, where both wait.
    runs_next: bool,
    /// Takers that found nothing and wait.
    idle: usize,
    closed: bool,
}

/// What one delivery is about.
#[derive(Debug)]
pub(crate) enum Taken {
    Rows(Vec<HeldRow>),
    Runs(Vec<Run>),
}

impl Inner {
    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.runs.is_empty()
    }

    fn take(&mut self, share: Share) -> Taken {
        let runs = !self.runs.is_empty() && (self.runs_next || self.rows.is_empty());
        self.runs_next = !runs;
        let even = |waiting: usize| waiting.div_ceil(share.workers.max(1)).clamp(1, share.most.max(1));
        if !runs {
            let rows = even(self.rows.len());
            return Taken::Rows(self.rows.take(rows));
        }
        if !share.whole_runs {
            // One row of each goes, and the runs come back: shared with all workers, busy ones too, the calls would
            // soon be of one row.
            let runs = self.runs.len().div_ceil(self.idle + 1).clamp(1, share.most.max(1));
            return Taken::Runs(self.runs.drain(..runs).collect());
        }
        let mut taken: Vec<Run> = Vec::new();
        let (mut rows, most_runs) = (0, even(self.runs.len()));
        while let Some(run) = self.runs.front() {
            rows += run.len();
            if !taken.is_empty() && (taken.len() >= most_runs || rows > share.most) {
                break;
            }
            taken.extend(self.runs.pop_front());
        }
        Taken::Runs(taken)
    }
}

/// How much one delivery takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    /// Rows at most.
    pub most: usize,
    /// Deliveries that share what waits.
    pub workers: usize,
    /// A run goes in one call: the transport keeps its order.
    pub whole_runs: bool,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in the rows of a claim, which come in the order of their groups.
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
        inner.runs.extend(runs);
        // One permit is stored at most, so a worker that takes rows wakes the next while any are left.
        self.arrived.notify_one();
    }

    /// What is left of a run waits its turn again, behind the others.
    pub fn put_back(&self, run: Run) {
        if !run.is_empty() {
            self.lock().runs.push_back(run);
            self.arrived.notify_one();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// How many wait.
    pub fn rows(&self) -> usize {
        let inner = self.lock();
        inner.rows.len() + inner.runs.iter().map(Run::len).sum::<usize>()
    }

    /// What one delivery is about: an even share of what waits, so that a short queue is spread over all workers
    /// (latency) and a long one goes in full batches (throughput). `None` once closed and empty.
    pub async fn take(&self, share: Share) -> Option<Taken> {
        let mut idle = 0;
        loop {
            {
                let mut inner = self.lock();
                inner.idle -= std::mem::take(&mut idle);
                if !inner.is_empty() {
                    let taken = inner.take(share);
                    if !inner.is_empty() {
                        self.arrived.notify_one();
                    }
                    return Some(taken);
                }
                if inner.closed {
                    // The next waiter must see it too.
                    self.arrived.notify_one();
                    return None;
                }
                idle = 1;
                inner.idle += idle;
            }
            self.arrived.notified().await;
        }
    }

    /// Everything that waits, to be handed back.
    pub fn take_all(&self) -> (Vec<HeldRow>, Vec<Run>) {
        let mut inner = self.lock();
        (inner.rows.take(usize::MAX), inner.runs.drain(..).collect())
    }

    /// No more rows will come; takers finish what is there.
    pub fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }
}
