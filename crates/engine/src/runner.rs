//! One running lane: the state that its parts share, and how they start and stop together.
//!
//! ```text
//!  claimer ──▶ waiting ──▶ deliverers ──▶ outcomes ──▶ settlers ──▶ the store
//!     ▲                                                   │
//!     └─────────────── room (rows settled) ◀──────────────┘   also: lease extender, maintenance, prober, watchdog
//! ```

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use postrider_contract::Stage;
use postrider_seams::{ClaimedRow, Dice, Handoff, Lease, Store, Transport, store};
use tokio::sync::{Notify, RwLock, Semaphore, SemaphorePermit};
use tokio::task::{JoinHandle, JoinSet};

use crate::batch::{Batch, HeldRow};
use crate::begun::BegunMarks;
use crate::first_breaks::FirstBreaks;
use crate::lane::Lane;
use crate::missing_acks::MissingAcks;
use crate::observed::{ObservedStore, ObservedTransport, PendingCalls};
use crate::outcomes::{DecidedRow, OutcomeQueue, SettleSizes};
use crate::refused::{self, RefusedOutcomes};
use crate::retry_timer::RetryTimer;
use crate::room::Room;
use crate::sizes::{CallSize, CallsAhead, ClaimSize, RoundTrip};
use crate::state::{LaneState, Phase, StoreTrouble};
use crate::suspect::Suspects;
use crate::unanswered::UnansweredClaims;
use crate::waiting::{Run, Waiting};
use crate::watchdog::{LastProgress, TrueSince};
use crate::{
    claimer, deliverer, first_rows, lease_extender, maintenance, prober, queue_receiver, settler, unanswered,
    watchdog,
};

/// The minimum time left on a lease when a delivery begins; a quarter of the lease if leases are short.
const LEASE_MARGIN: Duration = Duration::from_secs(2);

/// The state that the parts of one lane share.
pub(crate) struct Runner {
    pub lane: Lane,
    pub store: Arc<dyn Store>,
    pub transport: Arc<dyn Transport>,
    pub dice: Arc<dyn Dice>,
    pub state: Arc<LaneState>,
    pub waiting: Waiting,
    pub outcomes: OutcomeQueue,
    /// Outcomes that the database refuses to store.
    pub refused: RefusedOutcomes,
    /// Batches whose leases are extended; a batch lives as long as one of its rows.
    batches: Mutex<Vec<Weak<Batch>>>,
    /// Settles read, an extension writes: the two never overlap, so no settle uses a fence that is being changed.
    pub gate: RwLock<()>,
    /// Claims whose answer was lost.
    pub unanswered: UnansweredClaims,
    /// Marks rows as begun.
    pub begun_marks: BegunMarks,
    /// Deliveries read; the delivery of a suspect writes, so that it runs alone.
    pub alone: RwLock<()>,
    /// The state about suspects that the lanes of the process share.
    pub suspects: Arc<Suspects>,
    /// Wakes claimers that wait for room.
    pub room: Room,
    /// Notified when the last row of an ordered run, or a row of a pool, was settled: others may be claimable.
    pub freed: Notify,
    /// The retry timer: when to publish rows of a lane with a queue that were deferred or will be retried.
    pub retry_timer: RetryTimer,
    /// Notified when a full batch was claimed: the assisting claimers should start.
    pub backlog: Notify,
    /// Consecutive connection failures.
    pub unreachable_in_a_row: AtomicU32,
    /// Records that a broker did not acknowledge.
    pub missing_acks: MissingAcks,
    /// Rows whose connection broke although the target is up.
    pub first_breaks: FirstBreaks,
    /// Notified when an outcome suggests that the target may be gone.
    pub probe_requested: Notify,
    /// Concurrent calls of the transport.
    pub slots: Semaphore,
    pub claim_size: ClaimSize,
    pub call_size: CallSize,
    pub calls_ahead: CallsAhead,
    pub round_trip: RoundTrip,
    /// The byte budget of large rows in memory, in KiB.
    pub bytes: Semaphore,
    /// Store calls that have not been answered yet.
    pub pending_calls: Arc<PendingCalls>,
    /// Since when rows are due but claims do not return them.
    pub passed_over: TrueSince,
    /// Since when the queue has messages but none is received although there is room.
    pub unreceived: TrueSince,
    /// The time at which a pointer was last received.
    pub received: LastProgress,
    /// The time of the last progress.
    moved: LastProgress,
}

impl Runner {
    /// Creates a lane that is not started yet; wraps its store and transport for metrics.
    pub fn new(lane: Lane, state: Arc<LaneState>, dice: Arc<dyn Dice>, suspects: Arc<Suspects>) -> Arc<Self> {
        let pending_calls = Arc::<PendingCalls>::default();
        let store = ObservedStore::new(&lane.name, &lane.contract, Arc::clone(&lane.store));
        let store: Arc<dyn Store> = Arc::new(store.counting(Arc::clone(&pending_calls)));
        let transport: Arc<dyn Transport> =
            Arc::new(ObservedTransport::new(&lane.name, Arc::clone(&lane.transport)));
        let claim_size = ClaimSize::new(&lane.limits);
        let settles = store.capabilities();
        let outcomes = OutcomeQueue::new(SettleSizes {
            near: settles.settle_batch,
            distant: settles.settle_batch_distant,
        })
        .watching(lane.contract_memory.is_some());
        let workers = workers(&lane, &*transport);
        let bounded_room = bounded_room(&lane, &*transport);
        // Where clients share the deliveries, a prepared call would occupy a share of them.
        let calls_ahead = CallsAhead::new(workers, bounded_room.is_none());
        let waiting = Waiting::with_room(bounded_room);
        let kib = usize::try_from(lane.limits.large_row_bytes / 1024).unwrap_or(Semaphore::MAX_PERMITS);
        Arc::new(Self {
            bytes: Semaphore::new(kib.clamp(1, Semaphore::MAX_PERMITS)),
            lane,
            store,
            transport,
            dice,
            state,
            waiting,
            outcomes,
            refused: RefusedOutcomes::default(),
            batches: Mutex::default(),
            gate: RwLock::new(()),
            unanswered: UnansweredClaims::default(),
            begun_marks: BegunMarks::default(),
            alone: RwLock::new(()),
            suspects,
            room: Room::new(),
            freed: Notify::new(),
            retry_timer: RetryTimer::default(),
            backlog: Notify::new(),
            unreachable_in_a_row: AtomicU32::new(0),
            missing_acks: MissingAcks::default(),
            first_breaks: FirstBreaks::default(),
            probe_requested: Notify::new(),
            slots: Semaphore::new(workers),
            claim_size,
            call_size: CallSize::default(),
            calls_ahead,
            round_trip: RoundTrip::default(),
            pending_calls,
            passed_over: TrueSince::default(),
            unreceived: TrueSince::default(),
            received: LastProgress::now(),
            moved: LastProgress::now(),
        })
    }

    /// Returns the contract's stage that this lane runs.
    pub fn stage(&self) -> &Stage {
        &self.lane.contract.stages[self.lane.stage]
    }

    /// Registers a batch for lease extension.
    pub fn register_batch(&self, batch: &Arc<Batch>) {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(batch));
    }

    /// Returns the batches with leases still held; forgets the others.
    pub fn open_batches(&self) -> Vec<Arc<Batch>> {
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        let live: Vec<_> =
            batches.iter().filter_map(Weak::upgrade).filter(|batch| !batch.is_done()).collect();
        *batches = live.iter().map(Arc::downgrade).collect();
        live
    }

    /// Returns the leases of all rows whose delivery has begun and that are not settled yet.
    pub fn begun(&self) -> Vec<Lease> {
        self.open_batches().iter().flat_map(|batch| batch.begun()).collect()
    }

    /// Records progress, which resets the watchdog.
    pub fn note_progress(&self) {
        self.moved.note();
    }

    /// Returns the time since the last progress.
    pub fn since_progress(&self) -> Duration {
        self.moved.elapsed()
    }

    /// Records that the store answered.
    pub fn store_is_back(&self) {
        self.state.set_store(None);
    }

    /// Records that the store failed, and returns how long to wait before the next call. `failures` counts from 1.
    pub fn store_failed(&self, error: &store::Error, failures: u32) -> Duration {
        let trouble = match error.class {
            store::Class::Misconfigured => StoreTrouble::Misconfigured(error.to_string()),
            store::Class::Transient | store::Class::Permanent => StoreTrouble::Unavailable(error.to_string()),
        };
        self.state.set_store(Some(trouble));
        let waits = [100, 250, 500, 1000, 2000, 5000];
        let planned = waits[(failures.max(1) as usize - 1).min(waits.len() - 1)];
        Duration::from_millis(planned).mul_f64(1.0 + 0.2 * self.dice.roll())
    }

    /// Returns the minimum time left on a lease when a delivery begins.
    pub fn lease_margin(&self) -> Duration {
        LEASE_MARGIN.min(self.store.capabilities().lease / 4)
    }

    /// Whether clients share this lane fairly (the contract has a fairness key).
    pub fn is_fair(&self) -> bool {
        self.lane.contract.claim.fair.is_some()
    }

    /// Hands back all rows that wait for delivery.
    pub fn release_waiting(&self) {
        self.release(self.waiting.take_all());
    }

    /// Hands back rows and runs that were never tried.
    pub fn release(&self, (rows, runs): (Vec<HeldRow>, Vec<Run>)) {
        let rows = rows.into_iter().map(|row| DecidedRow::released(row.lease));
        let runs = runs.into_iter().filter_map(|run| {
            DecidedRow::released_together(run.into_iter().map(|held| held.lease).collect())
        });
        self.outcomes.push(rows.chain(runs).collect());
    }

    /// Waits until a large row fits into the lane's byte budget.
    pub async fn room_for(&self, bytes: u64) -> Option<SemaphorePermit<'_>> {
        let budget = u64::max(1, self.lane.limits.large_row_bytes / 1024);
        let kib = u32::try_from((bytes / 1024 + 1).min(budget)).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        self.bytes.acquire_many(kib).await.ok()
    }

    /// Starts every part; the returned task ends when the lane has drained.
    pub fn start(self: &Arc<Self>) -> JoinHandle<()> {
        let runner = Arc::clone(self);
        self.state.set_phase(Phase::Running);
        tokio::spawn(async move { runner.run().await })
    }

    async fn run(self: Arc<Self>) {
        let facts = self.store.capabilities();
        let mut background = JoinSet::new();
        background.spawn(lease_extender::run(Arc::clone(&self)));
        background.spawn(maintenance::run(Arc::clone(&self)));
        background.spawn(prober::run(Arc::clone(&self)));
        background.spawn(watchdog::run(Arc::clone(&self)));
        background.spawn(unanswered::run(Arc::clone(&self)));
        background.spawn(first_rows::run(Arc::clone(&self)));
        let mut settlers = JoinSet::new();
        for _ in 0..facts.settlers.max(1) {
            settlers.spawn(settler::run(Arc::clone(&self)));
            settlers.spawn(settler::assist(Arc::clone(&self)));
        }
        let mut refused = JoinSet::new();
        refused.spawn(refused::run(Arc::clone(&self)));
        let mut deliverers = JoinSet::new();
        for number in 0..self.workers() + self.calls_ahead.most() {
            deliverers.spawn(deliverer::run(Arc::clone(&self), number));
        }
        let mut claimers = JoinSet::new();
        if self.claims_from_table() {
            claimers.spawn(claimer::lead(Arc::clone(&self)));
            for _ in 1..facts.claimers.max(1) {
                claimers.spawn(claimer::assist(Arc::clone(&self)));
            }
        }
        if let Some(queue) = &self.lane.queue {
            for _ in 0..queue.receivers().max(1) {
                claimers.spawn(queue_receiver::receive(Arc::clone(&self), Arc::clone(queue)));
            }
        }
        // Claimers end when the lane drains; then each part ends once the previous one has ended and its queue is
        // empty.
        join(claimers).await;
        self.release_waiting();
        self.waiting.close();
        self.calls_ahead.close();
        join(deliverers).await;
        self.outcomes.close();
        join(settlers).await;
        self.refused.close();
        join(refused).await;
        background.shutdown().await;
        self.finish_unanswered().await;
        // No row is begun any more. Marks that stay behind are harmless: their rows have other fences by now.
        if let Err(error) = self.store.begin(&[], &[]).await {
            tracing::debug!(lane = self.state.name, %error, "the marks of begun rows could not be removed");
        }
        self.state.set_phase(Phase::Stopped);
    }

    /// Whether some rows are claimed from the table instead of through the queue.
    fn claims_from_table(&self) -> bool {
        self.lane.queue.is_none() || self.store.handoff().is_none_or(Handoff::may_have_unqueueable_rows)
    }

    /// Claims rows from the table: all due rows, or with a queue those that the queue cannot carry.
    pub async fn claim(&self, limit: u32) -> Result<Vec<ClaimedRow>, store::Error> {
        match self.store.handoff().filter(|_| self.lane.queue.is_some()) {
            Some(handoff) => handoff.claim_unqueueable(limit).await,
            None => self.store.claim(limit).await,
        }
    }

    /// The number of concurrent deliveries: as many as the lane allows and the transport can use.
    pub fn workers(&self) -> usize {
        workers(&self.lane, &*self.transport)
    }
}

fn workers(lane: &Lane, transport: &dyn Transport) -> usize {
    lane.limits.concurrency.min(transport.capabilities().concurrency).max(1)
}

/// Returns the deliveries that clients share, if each carries one row, so that a slow receiver occupies exactly one.
fn bounded_room(lane: &Lane, transport: &dyn Transport) -> Option<usize> {
    let shared = lane.contract.claim.fair.is_some() && transport.capabilities().batch == 1;
    shared.then(|| workers(lane, transport).min(lane.limits.max_held))
}

/// Waits for all parts and logs panics: a panic in a part is a bug of ours.
async fn join(mut parts: JoinSet<()>) {
    while let Some(ended) = parts.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "a part of the lane ended in a panic; its rows wait for their lease");
        }
    }
}
