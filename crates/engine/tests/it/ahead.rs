//! Calls that are marked ahead for a distant database: a crash charges their rows, so there are never more of them than
//! the target just took, and they are handed back when they cannot be sent soon.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use postrider_engine::{Engine, Health, Limits};
use postrider_seams::{Envelope, Failure, Outcome, Receipt, Store, Transport, transport};
use postrider_store_memory::{MemoryStore, MemoryTable};
use tokio::time::Instant;

use crate::fixtures::{FaultyStore, NoJitter, count, fill, health, int, lane, limits, mail, table, until};

const MINUTE: Duration = Duration::from_mins(1);

/// The time of a round trip to the database. A mark takes up to two: it may wait for the one in front of it.
const ROUND_TRIP: Duration = Duration::from_millis(100);
const TWO_MARKS: Duration = Duration::from_millis(400);

/// A target whose speed changes, and which records when each row was handed to it.
struct Target {
    /// Milliseconds per call.
    takes: AtomicU64,
    answer: fn(&str) -> Outcome,
    up: AtomicBool,
    handed: Mutex<HashMap<String, Instant>>,
}

impl Target {
    fn answering(takes: u64, answer: fn(&str) -> Outcome) -> Arc<Self> {
        let (takes, up) = (AtomicU64::new(takes), AtomicBool::new(true));
        Arc::new(Self { takes, answer, up, handed: Mutex::default() })
    }

    fn taking(takes: u64) -> Arc<Self> {
        Self::answering(takes, |_| Outcome::Delivered(Receipt::default()))
    }

    fn handed(&self) -> HashMap<String, Instant> {
        self.handed.lock().expect("no panic").clone()
    }

    fn has(&self, id: i64) -> bool {
        self.handed.lock().expect("no panic").contains_key(&id.to_string())
    }
}

#[async_trait]
impl Transport for Target {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(20, 8)
    }

    async fn deliver(&self, batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        let now = Instant::now();
        self.handed.lock().expect("no panic").extend(batch.iter().map(|one| (one.row.clone(), now)));
        tokio::time::sleep(Duration::from_millis(self.takes.load(SeqCst))).await;
        batch.iter().map(|envelope| (self.answer)(&envelope.row)).collect()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        if self.up.load(SeqCst) { Ok(()) } else { Err(transport::Error::Unreachable("away".to_owned())) }
    }
}

/// Starts a lane with the default limits of mails; a mark or a settle takes `call_takes`.
fn start(table: &Arc<MemoryTable>, target: &Arc<Target>, call_takes: Duration) -> (Engine, Arc<FaultyStore>) {
    let mut store = FaultyStore::new(table, "worker");
    (store.claimers, store.claim_takes, store.call_takes) = (2, 3 * ROUND_TRIP, call_takes);
    let store = Arc::new(store);
    let limits = Limits {
        concurrency: 8,
        batch: 200,
        max_batch: 500,
        max_batch_distant: 2000,
        max_held: 2000,
        ..limits()
    };
    let engine = Engine::new(Arc::new(NoJitter));
    engine.start(lane(Arc::clone(&store) as _, Arc::clone(target) as _, limits));
    (engine, store)
}

/// Kills the worker: nothing that it does reaches the database any more. Returns how many rows the crash charges
/// although they were not handed to the target.
async fn charged_unsent(table: &Arc<MemoryTable>, target: &Target, store: &FaultyStore) -> usize {
    store.away.store(true, SeqCst);
    let handed = target.handed();
    tokio::time::sleep(MINUTE + Duration::from_secs(1)).await;
    let next = MemoryStore::open(table, 0, "next");
    next.reclaim(100_000).await.expect("reclaimed");
    let rows = i64::try_from(table.rows().len()).expect("few");
    let is_charged =
        |id: &i64| int(table, *id, "retry_count") == Some(1) && !handed.contains_key(&id.to_string());
    (1..=rows).filter(is_charged).count()
}

/// The target hangs while a lane sends at full speed, and the worker is killed some time later.
async fn killed_after(hanging: Duration) -> (usize, usize) {
    let table = table();
    fill(&table, 3000);
    let target = Target::taking(80);
    let (_engine, store) = start(&table, &target, ROUND_TRIP);
    until("the sizes have adapted", MINUTE, || target.handed().len() >= 1500).await;
    target.takes.store(3_600_000, SeqCst);
    let since = Instant::now() - TWO_MARKS;
    let lately = target.handed().values().filter(|at| **at > since).count();
    tokio::time::sleep(hanging).await;
    (charged_unsent(&table, &target, &store).await, lately)
}

#[tokio::test(start_paused = true)]
async fn g02_a_crash_charges_no_more_unsent_rows_than_are_sent_in_two_marks() {
    for hanging in [0, 100, 300] {
        let (unsent, lately) = killed_after(Duration::from_millis(hanging)).await;
        assert!(unsent <= lately, "{unsent} rows after {hanging} ms, {lately} were sent in two marks");
    }
}

/// Two marks and a settle later, the calls that were prepared are handed back, and no others are prepared.
#[tokio::test(start_paused = true)]
async fn g02_a_target_that_hangs_soon_has_no_calls_ahead() {
    for hanging in [1000, 9000] {
        let (unsent, lately) = killed_after(Duration::from_millis(hanging)).await;
        assert_eq!(unsent, 0, "after {hanging} ms; {lately} rows were sent in two marks");
    }
}

/// Deliverers that waited for rows since the target was fast must not prepare calls for a slow one.
#[tokio::test(start_paused = true)]
async fn g02_a_target_that_is_slow_after_an_idle_time_gets_no_calls_ahead() {
    let table = table();
    fill(&table, 2000);
    let target = Target::taking(20);
    let (_engine, store) = start(&table, &target, ROUND_TRIP);
    until("all are sent", MINUTE, || count(&table, "sent") == 2000).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    target.takes.store(5000, SeqCst);
    for id in 2001..=3000 {
        table.insert(mail(&table, id));
    }
    until("calls are in flight", MINUTE, || (2001..=3000).any(|id| target.has(id))).await;
    tokio::time::sleep(3 * ROUND_TRIP).await;
    assert_eq!(charged_unsent(&table, &target, &store).await, 0);
}

/// Returns once the rows are being marked, which takes two seconds.
async fn is_marking(table: &MemoryTable, rows: usize) {
    until("they are claimed", MINUTE, || count(table, "dispatching") == rows).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
}

const SLOW: Duration = Duration::from_secs(2);

#[tokio::test(start_paused = true)]
async fn g02_rows_that_are_being_marked_are_handed_back_when_the_lane_is_paused() {
    let table = table();
    fill(&table, 8);
    let target = Target::taking(10);
    let (engine, store) = start(&table, &target, SLOW);
    is_marking(&table, 8).await;
    store.set_paused("mail", true).await.expect("paused");
    until("they are handed back", MINUTE, || count(&table, "queued") == 8).await;
    assert_eq!((target.handed().len(), health(&engine)), (0, Health::Paused));
    store.set_paused("mail", false).await.expect("resumed");
    until("they are sent", MINUTE, || count(&table, "sent") == 8).await;
    assert!((1..=8).all(|id| int(&table, id, "retry_count") == Some(0)), "it cost nothing");
}

#[tokio::test(start_paused = true)]
async fn g02_rows_that_are_being_marked_are_handed_back_by_a_drain() {
    let table = table();
    fill(&table, 8);
    let target = Target::taking(10);
    let (engine, _store) = start(&table, &target, SLOW);
    is_marking(&table, 8).await;
    let drained = engine.drain(Duration::from_secs(25)).await;
    assert!(drained.is_complete(), "{drained:?}");
    assert_eq!((target.handed().len(), count(&table, "queued")), (0, 8));
}

/// The first row finds out about the target while the others are being marked.
async fn closed_by_the_first_row(answer: fn(&str) -> Outcome) {
    let table = table();
    fill(&table, 1);
    let target = Target::answering(1000, answer);
    let (engine, _store) = start(&table, &target, SLOW);
    until("the first is sent", MINUTE, || target.has(1)).await;
    target.up.store(false, SeqCst);
    for id in 2..=9 {
        table.insert(mail(&table, id));
    }
    until("the lane says so", MINUTE, || !health(&engine).is_ready()).await;
    until("all are handed back", MINUTE, || count(&table, "queued") == 9).await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(target.handed().len(), 1, "nothing else is sent");
    assert!((1..=9).all(|id| int(&table, id, "retry_count") == Some(0)));
}

#[tokio::test(start_paused = true)]
async fn g02_rows_that_are_being_marked_are_handed_back_when_the_target_is_away() {
    closed_by_the_first_row(|_| crate::fixtures::unreachable()).await;
}

#[tokio::test(start_paused = true)]
async fn g03_rows_that_are_being_marked_are_handed_back_when_the_target_refuses_us() {
    closed_by_the_first_row(|_| Outcome::Refused(Failure::new("535 authentication failed"))).await;
}
