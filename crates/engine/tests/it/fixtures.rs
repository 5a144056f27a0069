//! Test fixtures: a table, a scripted transport, a store that can be made to fail, and a lane made of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::Contract;
use postrider_engine::{Engine, Health, Lane, Limits};
use postrider_seams::handoff::{PointerClaims, PublishSource};
use postrider_seams::store::{Capabilities, Class, Error, LeaseResult, Reclaimed, Settlement, SweepKind};
use postrider_seams::{
    ClaimedRow, Composer, Content, Dice, Envelope, Failure, Fields, Handoff, Lease, Outcome, Receipt, RowId,
    Store, Transport, Value, transport,
};
use postrider_store_memory::{MemoryStore, MemoryTable, Row};
use tokio::time::Instant;

/// Randomness without jitter: always the middle.
pub struct NoJitter;

impl Dice for NoJitter {
    fn roll(&self) -> f64 {
        0.0
    }
}

pub fn contract() -> Contract {
    let text = Contract::builtin("mail_outbox").expect("a built-in");
    Contract::parse("mail_outbox.toml", text).expect("a valid contract")
}

pub fn table() -> Arc<MemoryTable> {
    MemoryTable::new(contract())
}

/// A queued mail, due now.
pub fn mail(table: &MemoryTable, id: i64) -> Row {
    BTreeMap::from([
        ("id".to_owned(), Value::Int(id)),
        ("status".to_owned(), Value::Text("queued".to_owned())),
        ("retry_count".to_owned(), Value::Int(0)),
        ("next_attempt_at".to_owned(), Value::Int(table.now())),
        ("created_at".to_owned(), Value::Int(table.now())),
        ("to_addresses".to_owned(), Value::Text("a@example.org".to_owned())),
        ("subject".to_owned(), Value::Text(format!("mail {id}"))),
    ])
}

pub fn fill(table: &MemoryTable, rows: i64) {
    for id in 1..=rows {
        table.insert(mail(table, id));
    }
}

pub fn text(table: &MemoryTable, id: i64, column: &str) -> Option<String> {
    match table.row(&RowId::Int(id)).expect("the row is there").get(column) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

pub fn int(table: &MemoryTable, id: i64, column: &str) -> Option<i64> {
    match table.row(&RowId::Int(id)).expect("the row is there").get(column) {
        Some(Value::Int(int)) => Some(*int),
        _ => None,
    }
}

pub fn count(table: &MemoryTable, status: &str) -> usize {
    let is = |row: &&Row| row.get("status") == Some(&Value::Text(status.to_owned()));
    table.rows().iter().filter(is).count()
}

/// Waits, by the paused clock, until a condition holds.
pub async fn until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !holds() {
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

type Refuses = dyn Fn(&Settlement) -> bool + Send + Sync;
type Takes = dyn Fn(&str) -> Duration + Send + Sync;
type Script = dyn Fn(&Envelope) -> Outcome + Send + Sync;

/// A transport that answers from its script, after `takes`.
pub struct Scripted {
    script: Box<Script>,
    pub takes: Duration,
    /// The duration of a call, by the row of its first envelope.
    pub takes_for: Option<Box<Takes>>,
    /// Maximum number of envelopes per call.
    pub batch: usize,
    /// The probe interval while nothing is sent, as brokers have one.
    pub idle_probe_interval: Option<Duration>,
    pub up: AtomicBool,
    pub sent: Mutex<Vec<String>>,
    pub probes: AtomicUsize,
    pub most_at_once: AtomicUsize,
    at_once: AtomicUsize,
}

impl Scripted {
    pub fn new(script: impl Fn(&Envelope) -> Outcome + Send + Sync + 'static) -> Self {
        Self {
            script: Box::new(script),
            batch: 1,
            takes: Duration::ZERO,
            takes_for: None,
            idle_probe_interval: None,
            up: AtomicBool::new(true),
            sent: Mutex::default(),
            probes: AtomicUsize::new(0),
            most_at_once: AtomicUsize::new(0),
            at_once: AtomicUsize::new(0),
        }
    }

    pub fn delivers() -> Self {
        Self::new(|_| Outcome::Delivered(Receipt::default()))
    }

    pub fn taking(mut self, takes: Duration) -> Self {
        self.takes = takes;
        self
    }

    pub fn times(&self, row: &str) -> usize {
        self.sent.lock().expect("no panic").iter().filter(|sent| *sent == row).count()
    }

    pub fn total(&self) -> usize {
        self.sent.lock().expect("no panic").len()
    }
}

pub fn unreachable() -> Outcome {
    Outcome::Retryable(Failure { unreachable: true, ..Failure::new("connection refused") })
}

#[async_trait]
impl Transport for Scripted {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities {
            idle_probe_interval: self.idle_probe_interval,
            ..transport::Capabilities::new(self.batch, 64)
        }
    }

    async fn deliver(&self, batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        let at_once = self.at_once.fetch_add(1, SeqCst) + 1;
        self.most_at_once.fetch_max(at_once, SeqCst);
        let takes = self.takes_for.as_ref().map_or(self.takes, |takes| takes(&batch[0].row));
        tokio::time::sleep(takes).await;
        self.at_once.fetch_sub(1, SeqCst);
        let mut outcomes = Vec::new();
        for envelope in batch {
            self.sent.lock().expect("no panic").push(envelope.row.clone());
            outcomes.push((self.script)(envelope));
        }
        outcomes
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        self.probes.fetch_add(1, SeqCst);
        if self.up.load(SeqCst) {
            Ok(())
        } else {
            Err(transport::Error::Unreachable("still away".to_owned()))
        }
    }
}

/// A composer that accepts any row; panics on the subject `panic`, rejects the subject `reject`.
pub struct AcceptingComposer {
    pub limit: u64,
}

#[async_trait]
impl Composer for AcceptingComposer {
    async fn compose(&self, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
        rows.iter()
            .map(|row| {
                let fields = row.fields.as_ref().expect("the engine hands over rows with their fields");
                match fields.get("subject").as_text() {
                    Some("panic") => panic!("a composer's bug"),
                    Some("reject") => return Err(Outcome::Rejected(Failure::new("the subject\n is\tbad"))),
                    _ => {}
                }
                Ok(Envelope {
                    row: row.lease.id.to_string(),
                    dedupe: row.lease.id.to_string(),
                    attempt: row.counters.attempts + 1,
                    lease: postrider_seams::LeaseCheck::default(),
                    content: Content::Nothing,
                    detail: BTreeMap::new(),
                })
            })
            .collect()
    }

    fn size_limit(&self) -> u64 {
        self.limit
    }
}

/// [`AcceptingComposer`] with a dead letter for every row that ends undelivered: the envelope of the row `letter-ROW`.
pub struct DeadLetterComposer(pub AcceptingComposer);

#[async_trait]
impl Composer for DeadLetterComposer {
    async fn compose(&self, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
        self.0.compose(rows).await
    }

    fn size_limit(&self) -> u64 {
        self.0.size_limit()
    }

    fn dead_letter(&self, envelope: &Envelope, _reason: &str) -> Option<Envelope> {
        Some(Envelope { row: format!("letter-{}", envelope.row), ..envelope.clone() })
    }
}

/// A store whose calls fail or hang while a flag is set.
pub struct FaultyStore {
    pub inner: Arc<MemoryStore>,
    pub away: AtomicBool,
    /// Whether settles never return.
    pub hangs: AtomicBool,
    /// Whether the process is suspended right before rows are marked as begun.
    pub stops_before_begin: AtomicBool,
    pub is_stopped: AtomicBool,
    /// Whether claims skip every row, as if another transaction held them.
    pub skips: AtomicBool,
    /// Whether every settle fails permanently, as with a broken trigger or a revoked permission.
    pub refuses: AtomicBool,
    /// Whether the database refuses this settlement, as for a text that does not fit.
    pub refuses_this: Option<Box<Refuses>>,
    /// The row that another session holds locked.
    pub locked: Option<RowId>,
    /// The large row that can never be read.
    pub unreadable: Option<RowId>,
    /// The number of concurrent claims, and how long each takes while it reserves room.
    pub claimers: usize,
    pub claim_takes: Duration,
    /// The time that a mark or a settle takes.
    pub call_takes: Duration,
    /// The number of rows in the last list of begun rows.
    pub marked: AtomicUsize,
    pub extends: AtomicUsize,
    /// The number of the extension that fails, counted from the next one; 0 for none.
    pub failing_extension: AtomicUsize,
    pub loads: AtomicUsize,
    pub claims: AtomicUsize,
    pub due_queries: AtomicUsize,
    /// The number of claims that are committed but whose answers are lost.
    pub loses_claims: AtomicUsize,
    pub releases: AtomicUsize,
    /// The number of searches for rows of lost claims that fail.
    pub failing_releases: AtomicUsize,
}

impl FaultyStore {
    pub fn new(table: &Arc<MemoryTable>, worker: &str) -> Self {
        Self {
            inner: MemoryStore::open(table, 0, worker),
            away: AtomicBool::new(false),
            hangs: AtomicBool::new(false),
            stops_before_begin: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            skips: AtomicBool::new(false),
            refuses: AtomicBool::new(false),
            refuses_this: None,
            locked: None,
            unreadable: None,
            claimers: 1,
            claim_takes: Duration::ZERO,
            call_takes: Duration::ZERO,
            marked: AtomicUsize::new(0),
            extends: AtomicUsize::new(0),
            failing_extension: AtomicUsize::new(0),
            loads: AtomicUsize::new(0),
            claims: AtomicUsize::new(0),
            due_queries: AtomicUsize::new(0),
            loses_claims: AtomicUsize::new(0),
            releases: AtomicUsize::new(0),
            failing_releases: AtomicUsize::new(0),
        }
    }

    /// Fails if this claim was committed but its answer is to be lost.
    fn lost_answer(&self) -> Result<(), Error> {
        let left = self.loses_claims.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        left.map_or(Ok(()), |_| Err(Error::new(Class::Transient, "the connection dropped after the commit")))
    }

    fn answer(&self) -> Result<(), Error> {
        if self.away.load(SeqCst) {
            Err(Error::new(Class::Transient, "the database is away"))
        } else {
            Ok(())
        }
    }
}

#[async_trait]
impl Store for FaultyStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities { claimers: self.claimers, ..self.inner.capabilities() }
    }
    fn handoff(&self) -> Option<&dyn Handoff> {
        self.inner.handoff().map(|_| self as &dyn Handoff)
    }
    async fn claim(&self, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        self.answer()?;
        self.claims.fetch_add(1, SeqCst);
        if self.skips.load(SeqCst) {
            return Ok(Vec::new());
        }
        tokio::time::sleep(self.claim_takes).await;
        let rows = self.inner.claim(limit).await;
        self.lost_answer()?;
        rows
    }
    async fn load(&self, leases: &[Lease]) -> Result<Vec<Option<Fields>>, Error> {
        self.answer()?;
        self.loads.fetch_add(1, SeqCst);
        if leases.iter().any(|lease| self.unreadable.as_ref() == Some(&lease.id)) {
            return Err(Error::new(Class::Permanent, "the answer is larger than the server sends"));
        }
        self.inner.load(leases).await
    }
    async fn begin(&self, begun: &[Lease], others: &[Lease]) -> Result<Vec<LeaseResult>, Error> {
        self.answer()?;
        tokio::time::sleep(self.call_takes).await;
        self.marked.store(begun.len() + others.len(), SeqCst);
        while self.stops_before_begin.load(SeqCst) {
            self.is_stopped.store(true, SeqCst);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        self.inner.begin(begun, others).await
    }
    async fn settle(&self, moves: &[Settlement]) -> Result<Vec<LeaseResult>, Error> {
        self.answer()?;
        tokio::time::sleep(self.call_takes).await;
        while self.hangs.load(SeqCst) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        if self.refuses.load(SeqCst) {
            return Err(Error::new(Class::Permanent, "a trigger says no"));
        }
        let is_refused = |one: &&Settlement| self.refuses_this.as_ref().is_some_and(|refuses| refuses(one));
        let accepted: Vec<Settlement> = moves.iter().filter(|one| !is_refused(one)).cloned().collect();
        if accepted.is_empty() {
            return Err(Error::new(Class::Permanent, "the text does not fit"));
        }
        let mut answers = self.inner.settle(&accepted).await?.into_iter();
        let answer = |one: &Settlement| if is_refused(&one) { None } else { answers.next() };
        Ok(moves.iter().map(answer).map(|answer| answer.unwrap_or(LeaseResult::Refused)).collect())
    }
    async fn extend(&self, leases: &[Lease]) -> Result<Vec<Option<Lease>>, Error> {
        self.answer()?;
        self.extends.fetch_add(1, SeqCst);
        if leases.iter().any(|lease| self.locked.as_ref() == Some(&lease.id)) {
            tokio::time::sleep(Duration::from_secs(8)).await;
            return Err(Error::new(Class::Transient, "lock wait timeout exceeded"));
        }
        let left = self.failing_extension.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        if left == Ok(1) {
            return Err(Error::new(Class::Transient, "the connection dropped"));
        }
        self.inner.extend(leases).await
    }
    async fn reclaim(&self, limit: u32) -> Result<Reclaimed, Error> {
        self.answer()?;
        self.inner.reclaim(limit).await
    }
    async fn release_lost_claims(&self, held: &[Lease]) -> Result<u64, Error> {
        self.answer()?;
        self.releases.fetch_add(1, SeqCst);
        if self.failing_releases.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(Error::new(Class::Transient, "the database is away"));
        }
        self.inner.release_lost_claims(held).await
    }
    async fn sweep(&self, sweep: SweepKind, limit: u32) -> Result<u64, Error> {
        self.answer()?;
        self.inner.sweep(sweep, limit).await
    }
    async fn purge(&self, limit: u32) -> Result<u64, Error> {
        self.answer()?;
        self.inner.purge(limit).await
    }
    async fn next_due(&self) -> Result<Option<Duration>, Error> {
        self.due_queries.fetch_add(1, SeqCst);
        self.answer()?;
        self.inner.next_due().await
    }
    async fn wake(&self, deadline: Instant) {
        self.inner.wake(deadline).await;
    }
    async fn lock(&self, name: &str, ttl: Duration) -> Result<bool, Error> {
        self.answer()?;
        self.inner.lock(name, ttl).await
    }
    async fn unlock(&self, name: &str) -> Result<(), Error> {
        self.answer()?;
        self.inner.unlock(name).await
    }
    async fn paused(&self, lane: &str) -> Result<bool, Error> {
        self.answer()?;
        self.inner.paused(lane).await
    }
    async fn set_paused(&self, lane: &str, paused: bool) -> Result<(), Error> {
        self.answer()?;
        self.inner.set_paused(lane, paused).await
    }
}

impl FaultyStore {
    fn handoff_or_error(&self) -> &dyn Handoff {
        self.inner.handoff().expect("the lane has a queue")
    }
}

#[async_trait]
impl Handoff for FaultyStore {
    fn may_have_unqueueable_rows(&self) -> bool {
        self.handoff_or_error().may_have_unqueueable_rows()
    }
    async fn claim_by_id(&self, rows: &[RowId]) -> Result<PointerClaims, Error> {
        self.answer()?;
        tokio::time::sleep(self.claim_takes).await;
        let taken = self.handoff_or_error().claim_by_id(rows).await;
        self.lost_answer()?;
        taken
    }
    async fn claim_unqueueable(&self, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        self.answer()?;
        tokio::time::sleep(self.claim_takes).await;
        self.handoff_or_error().claim_unqueueable(limit).await
    }
    async fn mark_published(&self, source: PublishSource, limit: u32) -> Result<Vec<RowId>, Error> {
        self.handoff_or_error().mark_published(source, limit).await
    }
    async fn recall(&self, rows: &[RowId]) -> Result<u64, Error> {
        self.handoff_or_error().recall(rows).await
    }
}

pub fn limits() -> Limits {
    Limits {
        concurrency: 4,
        batch: 20,
        max_batch: 20,
        max_batch_distant: 20,
        max_held: 40,
        large_row_bytes: 64 * 1024 * 1024,
        timeout: Duration::from_secs(10),
        poll_interval: Duration::from_millis(500),
        maintenance_interval: Duration::from_secs(5),
        single_claimer: false,
    }
}

pub fn lane(store: Arc<dyn Store>, transport: Arc<dyn Transport>, limits: Limits) -> Lane {
    Lane {
        name: "mail".to_owned(),
        contract: Arc::new(contract()),
        stage: 0,
        store,
        composer: Arc::new(AcceptingComposer { limit: 1024 * 1024 }),
        transport,
        queue: None,
        contract_memory: None,
        limits,
    }
}

/// Starts an engine with one lane on a store of its own.
pub fn start(table: &Arc<MemoryTable>, transport: &Arc<Scripted>) -> Engine {
    let engine = Engine::new(Arc::new(NoJitter));
    let store = MemoryStore::open(table, 0, "worker-1");
    engine.start(lane(store, Arc::clone(transport) as Arc<dyn Transport>, limits()));
    engine
}

pub fn health(engine: &Engine) -> Health {
    engine.handle().lane("mail").expect("the lane is there").health
}
