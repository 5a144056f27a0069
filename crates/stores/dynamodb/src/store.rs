//! The DynamoDB store: one stage of one contract on one table.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::{Contract, Stage, Transition};
use postrider_seams::inspect::Lag;
use postrider_seams::row::REACHED;
use postrider_seams::store::{Capabilities, Error, LeaseResult, Reclaimed, Settlement, SweepKind};
use postrider_seams::{ClaimedRow, Fields, Lease, Store};
use tokio::time::Instant;

use crate::connect::Database;
use crate::extend::UnknownFences;
use crate::index_scan::ScanPositions;
use crate::layout::{RECIPIENTS, RecordLayout};
use crate::record::Record;
use crate::settle::SettledBefore;
use crate::statement::TableTarget;

/// The number of records per settle; each is its own transaction.
const SETTLE_BATCH: usize = 100;
/// Maximum of records in memory, even if many leases were lost.
pub(crate) const HELD_LIMIT: usize = 10_000;
/// Time for which the last claim's result is used for the next due time.
const VALID_FOR: Duration = Duration::from_secs(1);

/// One stage of one contract on one table.
pub struct DynamoStore {
    pub(crate) database: Database,
    pub(crate) contract: Contract,
    stage: usize,
    pub(crate) layout: RecordLayout,
    pub(crate) target: TableTarget,
    pub(crate) field_names: Arc<[String]>,
    pub(crate) field_columns: Vec<String>,
    pub(crate) scan_positions: ScanPositions,
    pub(crate) held: HeldRecords,
    pub(crate) unknown_fences: UnknownFences,
    /// Whether other workers claimed what the last claim wanted.
    pub(crate) contended: AtomicBool,
    pub(crate) settled_before: SettledBefore,
    /// The name under which this store claims rows and lists those that it has begun.
    pub(crate) worker: String,
    /// The error of a claim that also returned rows; the next claim returns it.
    pub(crate) claim_error: Mutex<Option<Error>>,
    /// Rows held by this store that have a crash count.
    crashed: Mutex<HashSet<String>>,
    next_due: Mutex<Option<(Instant, i64)>>,
    pub(crate) lag: Mutex<Option<(Instant, Lag)>>,
}

/// The longest recipient results, in bytes: a record of 400 KB has other attributes as well.
const RECIPIENTS_LIMIT: usize = 256 * 1024;

impl DynamoStore {
    pub(crate) fn new(database: Database, contract: Contract, stage: usize, projects_ttl: bool) -> Self {
        let contract = contract.storing_recipients(RECIPIENTS);
        let (names, columns): (Vec<_>, Vec<_>) = contract.message_columns().into_iter().unzip();
        let mut store = Self {
            database,
            layout: RecordLayout::new(&contract),
            target: TableTarget::new(&contract, projects_ttl),
            contract,
            stage,
            field_names: Arc::default(),
            field_columns: columns,
            scan_positions: ScanPositions::default(),
            held: HeldRecords::default(),
            unknown_fences: UnknownFences::default(),
            contended: AtomicBool::new(false),
            settled_before: SettledBefore::default(),
            worker: format!("{:016x}", rand::random::<u64>()),
            claim_error: Mutex::default(),
            crashed: Mutex::default(),
            next_due: Mutex::default(),
            lag: Mutex::default(),
        };
        let reached = store.reports_reached_at(store.stage()).then(|| REACHED.to_owned());
        store.field_names = names.into_iter().chain(reached).collect();
        store
    }

    pub(crate) fn stage(&self) -> &Stage {
        &self.contract.stages[self.stage]
    }

    pub(crate) fn claim_error(&self) -> MutexGuard<'_, Option<Error>> {
        self.claim_error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn crashed(&self) -> MutexGuard<'_, HashSet<String>> {
        self.crashed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps when the first record that a claim left is due, if it saw all of them; `i64::MAX` if there is none.
    pub(crate) fn remember_next_due(&self, due: Option<i64>) {
        *self.next_due.lock().unwrap_or_else(PoisonError::into_inner) = due.map(|due| (Instant::now(), due));
    }

    /// Returns what the last claim saw, if that is recent: a walk over the index is expensive.
    fn recent_next_due(&self) -> Option<i64> {
        let seen = self.next_due.lock().unwrap_or_else(PoisonError::into_inner).take();
        seen.filter(|(at, _)| at.elapsed() < VALID_FOR).map(|(_, due)| due)
    }
}

/// The records that our claims wrote, so that a settle needs no read. The fence decides whether they are still current.
#[derive(Debug, Default)]
pub(crate) struct HeldRecords(Mutex<HashMap<String, Record>>);

impl HeldRecords {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Record>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn insert(&self, record: Record) {
        let mut held = self.lock();
        if held.len() >= HELD_LIMIT {
            held.clear();
        }
        held.insert(record.id.clone(), record);
    }

    pub(crate) fn get(&self, id: &str) -> Option<Record> {
        self.lock().get(id).cloned()
    }

    pub(crate) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }
}

#[async_trait]
impl Store for DynamoStore {
    fn capabilities(&self) -> Capabilities {
        let lease = self.stage().lease.duration;
        Capabilities {
            notifies: false,
            claimers: 1,
            settlers: 4,
            settle_batch: SETTLE_BATCH,
            settle_batch_distant: SETTLE_BATCH,
            lease,
            extend_every: lease / 3,
            recipient_results: self.contract.stores_recipients_on(Transition::Retry),
            recipient_results_on_deferral: self.contract.stores_recipients_on(Transition::Deferred),
            reason_limit: None,
            recipients_limit: Some(RECIPIENTS_LIMIT),
            finds_lost_claims: true,
        }
    }

    async fn claim(&self, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        self.claim_records(limit as usize).await
    }

    async fn load(&self, leases: &[Lease]) -> Result<Vec<Option<Fields>>, Error> {
        let loads = leases.iter().map(|lease| self.load_one(lease)).collect();
        self.database.in_parallel(loads).await.into_iter().collect()
    }

    async fn begin(&self, begun: &[Lease], others: &[Lease]) -> Result<Vec<LeaseResult>, Error> {
        self.begin_records(begun, others).await
    }

    async fn settle(&self, moves: &[Settlement]) -> Result<Vec<LeaseResult>, Error> {
        self.settle_all(moves).await
    }

    async fn extend(&self, leases: &[Lease]) -> Result<Vec<Option<Lease>>, Error> {
        self.extend_all(leases).await
    }

    async fn reclaim(&self, limit: u32) -> Result<Reclaimed, Error> {
        self.reclaim_records(limit as usize).await
    }

    async fn release_lost_claims(&self, held: &[Lease]) -> Result<u64, Error> {
        self.release_lost_records(held).await
    }

    async fn sweep(&self, sweep: SweepKind, limit: u32) -> Result<u64, Error> {
        match sweep {
            SweepKind::Exhausted => self.sweep_spent(limit as usize).await,
            SweepKind::Contract(index) => self.sweep_contract(index, limit as usize).await,
        }
    }

    /// Does nothing: DynamoDB deletes records by their time to live, which the move into a state with a retention sets.
    async fn purge(&self, _limit: u32) -> Result<u64, Error> {
        Ok(0)
    }

    async fn next_due(&self) -> Result<Option<Duration>, Error> {
        let now = self.database.clock.now();
        let mut earliest = self.recent_next_due();
        if earliest.is_none() {
            let ready = self.find_records("look ahead", &self.stage().ready, usize::MAX, |_| true).await?;
            earliest = ready.iter().map(|record| self.due_of(record)).min();
        }
        let left = |due: i64| Duration::from_micros(u64::try_from(due.saturating_sub(now)).unwrap_or(0));
        Ok(earliest.filter(|due| *due < i64::MAX).map(left))
    }

    async fn wake(&self, deadline: Instant) {
        tokio::time::sleep_until(deadline).await;
    }

    async fn lock(&self, name: &str, ttl: Duration) -> Result<bool, Error> {
        self.acquire_lock(name, ttl).await
    }

    async fn unlock(&self, name: &str) -> Result<(), Error> {
        self.release_lock(name).await
    }

    async fn paused(&self, lane: &str) -> Result<bool, Error> {
        self.is_paused(lane).await
    }

    async fn set_paused(&self, lane: &str, paused: bool) -> Result<(), Error> {
        self.pause(lane, paused).await
    }
}
