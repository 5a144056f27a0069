//! One running lane: what its parts share, and how they start and stop together.
//!
//! ```text
//!  claimer ──▶ waiting ──▶ deliverers ──▶ ended ──▶ settlers ──▶ the store
//!     ▲                                                │
//!     └────────────── room (rows settled) ◀────────────┘      keeper, nets, prober, watchdog: beside
//! ```

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use postrider_contract::Stage;
use postrider_seams::{Claimed, Dice, Handoff, Lease, Store, Transport, Want, store};
use tokio::sync::{Notify, RwLock, Semaphore, SemaphorePermit};
use tokio::task::{JoinHandle, JoinSet};

use crate::batch::{Batch, HeldRow};
use crate::begin::Begins;
use crate::ended::{Ended, EndedRows};
use crate::lane::Lane;
use crate::observed::{ObservedStore, ObservedTransport};
use crate::pace::Pace;
use crate::questions::Questions;
use crate::reach::Reach;
use crate::room::Room;
use crate::silence::Silence;
use crate::soon::Soon;
use crate::state::{LaneState, Phase, StoreTrouble};
use crate::suspect::Suspects;
use crate::unanswered::Unanswered;
use crate::waiting::{Run, Waiting};
use crate::watchdog::{Lasting, Moment};
use crate::{claimer, deliverer, keeper, nets, ordered, pointers, prober, settler, unanswered, watchdog};

/// What the parts of one lane share.
pub(crate) struct Runner {
    pub lane: Lane,
    pub store: Arc<dyn Store>,
    pub transport: Arc<dyn Transport>,
    pub dice: Arc<dyn Dice>,
    pub state: Arc<LaneState>,
    pub waiting: Waiting,
    pub ended: EndedRows,
    /// Batches with leases to keep; a batch lives as long as one of its rows.
    batches: Mutex<Vec<Weak<Batch>>>,
    /// Settles read, an extension writes: the two never overlap, so no settle goes out with a fence that is changing.
    pub gate: RwLock<()>,
    /// Claims whose answer never arrived.
    pub unanswered: Unanswered,
    /// Marks rows as begun.
    pub begins: Begins,
    /// Deliveries read; a suspect writes, so that it is delivered alone.
    pub alone: RwLock<()>,
    /// What the lanes of the process share about suspects.
    pub suspects: Arc<Suspects>,
    /// Who waits for room to claim.
    pub room: Room,
    /// The last row of an ordered run was settled: its group can be claimed again.
    pub freed: Notify,
    /// When rows that go by a queue, and were put off, are to be published.
    pub soon: Soon,
    /// A full batch was claimed: more claimers are worth their while.
    pub deep: Notify,
    /// Connection-level failures in a row.
    pub unreachable_in_a_row: AtomicU32,
    /// What a broker does not acknowledge.
    pub silence: Silence,
    /// A delivery ended so that the target may be gone.
    pub doubt: Notify,
    /// How many rows a claim asks for.
    pub reach: Reach,
    /// How long the target takes for one envelope.
    pub pace: Pace,
    /// KiB of large rows that may be in memory at once.
    pub bytes: Semaphore,
    /// What the store owes an answer to.
    pub questions: Arc<Questions>,
    /// Rows are due, and claims come back without them.
    pub passed_over: Lasting,
    /// The queue has messages, and none is received although there is room.
    pub unreceived: Lasting,
    /// When a pointer was last received.
    pub received: Moment,
    /// When something last moved.
    moved: Moment,
}

impl Runner {
    pub fn new(lane: Lane, state: Arc<LaneState>, dice: Arc<dyn Dice>, suspects: Arc<Suspects>) -> Arc<Self> {
        let questions = Arc::<Questions>::default();
        let store = ObservedStore::new(&lane.name, &lane.contract, Arc::clone(&lane.store));
        let store: Arc<dyn Store> = Arc::new(store.counting(Arc::clone(&questions)));
        let transport: Arc<dyn Transport> =
            Arc::new(ObservedTransport::new(&lane.name, Arc::clone(&lane.transport)));
        let reach = Reach::new(&lane.limits);
        let waiting = Waiting::with_room(bounded_room(&lane, &*transport));
        let kib = usize::try_from(lane.limits.bytes / 1024).unwrap_or(Semaphore::MAX_PERMITS);
        Arc::new(Self {
            bytes: Semaphore::new(kib.clamp(1, Semaphore::MAX_PERMITS)),
            lane,
            store,
            transport,
            dice,
            state,
            waiting,
            ended: EndedRows::default(),
            batches: Mutex::default(),
            gate: RwLock::new(()),
            unanswered: Unanswered::default(),
            begins: Begins::default(),
            alone: RwLock::new(()),
            suspects,
            room: Room::new(),
            freed: Notify::new(),
            soon: Soon::default(),
            deep: Notify::new(),
            unreachable_in_a_row: AtomicU32::new(0),
            silence: Silence::default(),
            doubt: Notify::new(),
            reach,
            pace: Pace::default(),
            questions,
            passed_over: Lasting::default(),
            unreceived: Lasting::default(),
            received: Moment::now(),
            moved: Moment::now(),
        })
    }

    pub fn stage(&self) -> &Stage {
        &self.lane.contract.stages[self.lane.stage]
    }

    pub fn keep(&self, batch: &Arc<Batch>) {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(batch));
    }

    /// The batches with leases still held; forgets the others.
    pub fn kept(&self) -> Vec<Arc<Batch>> {
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        let live: Vec<_> =
            batches.iter().filter_map(Weak::upgrade).filter(|batch| !batch.is_done()).collect();
        *batches = live.iter().map(Arc::downgrade).collect();
        live
    }

    /// The leases of all rows whose delivery has begun and that are not settled yet.
    pub fn begun(&self) -> Vec<Lease> {
        self.kept().iter().flat_map(|batch| batch.begun()).collect()
    }

    /// Something moved: the watchdog is content.
    pub fn note_progress(&self) {
        self.moved.note();
    }

    pub fn since_progress(&self) -> Duration {
        self.moved.elapsed()
    }

    /// The store answered.
    pub fn store_is_back(&self) {
        self.state.set_store(None);
    }

    /// The store failed: says so, and returns how long to leave it alone. `failures` counts from 1.
    pub fn store_failed(&self, error: &store::Error, failures: u32) -> Duration {
        let trouble = match error.class {
            store::Class::Misconfigured => StoreTrouble::Misconfigured(error.to_string()),
            store::Class::Transient | store::Class::Permanent => StoreTrouble::Away(error.to_string()),
        };
        self.state.set_store(Some(trouble));
        let waits = [100, 250, 500, 1000, 2000, 5000];
        let planned = waits[(failures.max(1) as usize - 1).min(waits.len() - 1)];
        Duration::from_millis(planned).mul_f64(1.0 + 0.2 * self.dice.roll())
    }

    /// Do clients take turns on this lane?
    pub fn is_fair(&self) -> bool {
        self.lane.contract.claim.fair.is_some()
    }

    /// Hands back rows that were never tried.
    pub fn release_waiting(&self) {
        self.release(self.waiting.take_all());
    }

    pub fn release(&self, (rows, runs): (Vec<HeldRow>, Vec<Run>)) {
        let rows = rows.into_iter().map(|row| Ended::released(row.lease));
        self.ended.push(rows.chain(runs.into_iter().filter_map(ordered::give_back)).collect());
    }

    /// Waits until a large row fits into the lane's budget of bytes.
    pub async fn room_for(&self, bytes: u64) -> Option<SemaphorePermit<'_>> {
        let budget = u64::max(1, self.lane.limits.bytes / 1024);
        let kib = u32::try_from((bytes / 1024 + 1).min(budget)).unwrap_or(u32::MAX);
        // It is never closed.
        self.bytes.acquire_many(kib).await.ok()
    }

    /// Starts every part; the handle ends when the lane has drained.
    pub fn start(self: &Arc<Self>) -> JoinHandle<()> {
        let runner = Arc::clone(self);
        self.state.set_phase(Phase::Running);
        tokio::spawn(async move { runner.run().await })
    }

    async fn run(self: Arc<Self>) {
        let facts = self.store.capabilities();
        let mut beside = JoinSet::new();
        beside.spawn(keeper::run(Arc::clone(&self)));
        beside.spawn(nets::run(Arc::clone(&self)));
        beside.spawn(prober::run(Arc::clone(&self)));
        beside.spawn(watchdog::run(Arc::clone(&self)));
        beside.spawn(unanswered::run(Arc::clone(&self)));
        let mut settlers = JoinSet::new();
        for _ in 0..facts.settlers.max(1) {
            settlers.spawn(settler::run(Arc::clone(&self), facts.settle_batch));
        }
        let mut deliverers = JoinSet::new();
        for _ in 0..self.workers() {
            deliverers.spawn(deliverer::run(Arc::clone(&self)));
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
                claimers.spawn(pointers::receive(Arc::clone(&self), Arc::clone(queue)));
            }
        }
        // Claimers end when the lane drains; then each part ends when the one before it has nothing more to give.
        join(claimers).await;
        self.release_waiting();
        self.waiting.close();
        join(deliverers).await;
        self.ended.close();
        join(settlers).await;
        beside.shutdown().await;
        if let Err(error) = self.release_unanswered().await {
            tracing::debug!(lane = self.state.name, %error, "rows of a claim without an answer wait for their lease");
        }
        // Nothing is begun any more. Marks that stay behind do no harm: their rows have other fences by now.
        if let Err(error) = self.store.begin(&[], &[]).await {
            tracing::debug!(lane = self.state.name, %error, "the marks of begun rows could not be removed");
        }
        self.state.set_phase(Phase::Stopped);
    }

    /// Are there rows that do not go by a queue?
    fn claims_from_table(&self) -> bool {
        self.lane.queue.is_none() || self.store.handoff().is_none_or(Handoff::keeps_rows)
    }

    /// Rows from the table: all that may go, or those that no queue can carry.
    pub async fn claim(&self, limit: u32) -> Result<Vec<Claimed>, store::Error> {
        match self.store.handoff().filter(|_| self.lane.queue.is_some()) {
            Some(handoff) => handoff.claim_kept(limit).await,
            None => self.store.claim(&Want { limit }).await,
        }
    }

    /// Deliveries at once: as many as the lane allows and the transport can use.
    pub fn workers(&self) -> usize {
        workers(&self.lane, &*self.transport)
    }
}

fn workers(lane: &Lane, transport: &dyn Transport) -> usize {
    lane.limits.concurrency.min(transport.capabilities().concurrency).max(1)
}

/// The deliveries that clients share, where each is of one row: a slow receiver then takes up exactly one.
fn bounded_room(lane: &Lane, transport: &dyn Transport) -> Option<usize> {
    let shared = lane.contract.claim.fair.is_some() && transport.capabilities().batch == 1;
    shared.then(|| workers(lane, transport).min(lane.limits.held))
}

/// Waits for all; a panic in a part is a bug of ours, and it must not pass in silence.
async fn join(mut parts: JoinSet<()>) {
    while let Some(ended) = parts.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "a part of the lane ended in a panic; its rows wait for their lease");
        }
    }
}
