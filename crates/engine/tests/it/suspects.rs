//! Suspects: rows that were being delivered at several crashes in a row are delivered alone, after a wait, and end dead
//! only after many crashes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::{Contract, Defer};
use postrider_engine::{Engine, Health, Lane, Limits};
use postrider_seams::{
    ClaimedRow, Composer, Envelope, Outcome, Receipt, RowId, Store, Transport, Value, transport,
};
use postrider_store_memory::{MemoryStore, MemoryTable};
use tokio::time::Instant;

use crate::fixtures::{
    AcceptingComposer, FaultyStore, NoJitter, Scripted, count, fill, health, int, lane, limits, mail, start,
    table, text, until,
};
use crate::ordered;

const MINUTE: Duration = Duration::from_mins(1);

/// Lets a worker die while it delivers this row; returns how many crashes the row had before. Takes a minute.
async fn crash(table: &Arc<MemoryTable>, worker: &str, id: i64) -> u32 {
    let dead = MemoryStore::open(table, 0, worker);
    let claimed = dead.claim(100).await.expect("claimed");
    let claimed = claimed.into_iter().find(|row| row.lease.id == RowId::Int(id)).expect("it is claimed");
    dead.begin(std::slice::from_ref(&claimed.lease), &[]).await.expect("begun");
    tokio::time::sleep(MINUTE + Duration::from_secs(1)).await;
    dead.reclaim(100).await.expect("reclaimed");
    claimed.crashes
}

async fn crashes(table: &Arc<MemoryTable>, id: i64, times: u32) {
    for before in 0..times {
        assert_eq!(crash(table, &format!("dead-{id}-{before}"), id).await, before);
    }
}

#[tokio::test(start_paused = true)]
async fn m07_a_row_that_kills_its_workers_ends_failed_and_its_neighbours_do_not() {
    let table = table();
    fill(&table, 3);
    crashes(&table, 1, 6).await;
    assert_eq!(text(&table, 1, "status").as_deref(), Some("queued"), "six are not enough");
    assert_eq!(int(&table, 1, "retry_count"), Some(4), "a crash never spends the last attempt");
    assert_eq!(crash(&table, "dead-at-last", 1).await, 6);
    assert_eq!(text(&table, 1, "status").as_deref(), Some("failed"));
    assert!(text(&table, 1, "last_error").expect("a reason").contains("poison"));
    let transport = Arc::new(Scripted::delivers());
    let _engine = start(&table, &transport);
    until("the others are sent", MINUTE, || count(&table, "sent") == 2).await;
    assert!((2..=3).all(|id| int(&table, id, "retry_count") == Some(0)));
}

#[tokio::test(start_paused = true)]
async fn m07_a_suspect_waits_before_its_lone_try() {
    let table = table();
    fill(&table, 30);
    crashes(&table, 1, 4).await;
    let spent = int(&table, 1, "retry_count");
    let crashed = Instant::now();
    let transport = Arc::new(Scripted::delivers());
    let _engine = start(&table, &transport);
    until("its neighbours are sent", Duration::from_secs(10), || count(&table, "sent") == 29).await;
    until("it is put off", Duration::from_secs(1), || count(&table, "queued") == 1).await;
    assert_eq!(int(&table, 1, "retry_count"), spent, "waiting costs nothing");
    until("it is sent", MINUTE * 2, || count(&table, "sent") == 30).await;
    assert!((60..65).contains(&crashed.elapsed().as_secs()), "after {:?}", crashed.elapsed());
    assert_eq!(transport.times("1"), 1);
}

/// A transport that takes a second per call, longer for rows 1 and 2, and records what is in flight at the same time as
/// these.
#[derive(Default)]
struct Watching {
    takes: Duration,
    keeps_order: bool,
    in_flight: Mutex<BTreeSet<String>>,
    suspects: AtomicUsize,
    beside_a_suspect: AtomicUsize,
}

impl Watching {
    fn taking(takes: Duration) -> Arc<Self> {
        Arc::new(Self { takes, ..Self::default() })
    }
}

#[async_trait]
impl Transport for Watching {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(8, 64).keeping_order(self.keeps_order)
    }

    async fn deliver(&self, batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        let is_suspect = batch.iter().any(|envelope| matches!(envelope.row.as_str(), "1" | "2"));
        {
            let mut in_flight = self.in_flight.lock().expect("no panic");
            in_flight.extend(batch.iter().map(|envelope| envelope.row.clone()));
            if in_flight.len() > 1 && (in_flight.contains("1") || in_flight.contains("2")) {
                self.beside_a_suspect.fetch_add(1, SeqCst);
            }
        }
        self.suspects.fetch_add(usize::from(is_suspect), SeqCst);
        tokio::time::sleep(if is_suspect { self.takes } else { Duration::from_secs(1) }).await;
        let mut in_flight = self.in_flight.lock().expect("no panic");
        for envelope in batch {
            in_flight.remove(&envelope.row);
        }
        batch.iter().map(|_| Outcome::Delivered(Receipt::default())).collect()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn m07_a_suspect_is_delivered_alone() {
    let table = table();
    fill(&table, 30);
    crashes(&table, 1, 2).await;
    crashes(&table, 2, 2).await;
    let transport = Watching::taking(Duration::from_secs(1));
    let engine = Engine::new(Arc::new(NoJitter));
    let store = MemoryStore::open(&table, 0, "next");
    engine.start(lane(store, Arc::clone(&transport) as Arc<dyn Transport>, limits()));
    until("all are sent", MINUTE * 2, || count(&table, "sent") == 30).await;
    assert_eq!(transport.beside_a_suspect.load(SeqCst), 0, "nothing else was in flight beside a suspect");
    let again = MemoryStore::open(&table, 0, "again");
    table.edit(&RowId::Int(1), |row| {
        row.insert("status".to_owned(), Value::Text("queued".to_owned()));
    });
    let claimed = again.claim(1).await;
    assert_eq!(claimed.expect("claimed")[0].crashes, 0, "a delivery that completes clears the count");
}

/// Otherwise the crash would be counted against rows of another lane as well.
#[tokio::test(start_paused = true)]
async fn m07_a_suspect_is_alone_in_the_whole_process() {
    let (suspects, others) = (table(), table());
    fill(&suspects, 1);
    for id in 101..=250 {
        others.insert(mail(&others, id));
    }
    crashes(&suspects, 1, 2).await;
    let transport = Watching::taking(Duration::from_secs(28));
    let engine = Engine::new(Arc::new(NoJitter));
    // Longer than the stall limit of the other lane.
    let patient = Limits { timeout: Duration::from_secs(30), ..limits() };
    let first = lane(MemoryStore::open(&suspects, 0, "a"), transport.clone() as Arc<dyn Transport>, patient);
    let store = MemoryStore::open(&others, 0, "a");
    let second = lane(store, transport.clone() as Arc<dyn Transport>, limits());
    engine.start(Lane { name: "suspects".to_owned(), ..first });
    engine.start(second);
    until("the suspect is sent", MINUTE, || {
        assert!(!matches!(health(&engine), Health::Stalled { .. }), "it only waits for the other lane");
        count(&suspects, "sent") == 1
    })
    .await;
    until("the other lane goes on", MINUTE * 3, || count(&others, "sent") == 150).await;
    assert_eq!(transport.beside_a_suspect.load(SeqCst), 0, "nothing else was in flight beside it");
}

/// A lane whose target hangs must not delay a suspect of another lane, nor must the suspect delay the other lanes.
#[tokio::test(start_paused = true)]
async fn m07_a_suspect_waits_for_other_lanes_no_longer_than_a_delivery() {
    let (suspects, slow) = (table(), table());
    fill(&suspects, 1);
    slow.insert(mail(&slow, 101));
    crashes(&suspects, 1, 2).await;
    let engine = Engine::new(Arc::new(NoJitter));
    let hangs = Arc::new(Scripted::delivers().taking(MINUTE * 20));
    let patient = Limits { timeout: MINUTE * 30, ..limits() };
    let second = lane(MemoryStore::open(&slow, 0, "a"), hangs as Arc<dyn Transport>, patient);
    engine.start(Lane { name: "slow".to_owned(), ..second });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let transport = Arc::new(Scripted::delivers());
    engine.start(lane(MemoryStore::open(&suspects, 0, "a"), transport as Arc<dyn Transport>, limits()));
    until("the suspect is sent", MINUTE, || count(&suspects, "sent") == 1).await;
}

fn outbox(
    table: &Arc<MemoryTable>,
    contract: &Contract,
    transport: Arc<dyn Transport>,
) -> (Engine, Arc<FaultyStore>) {
    let engine = Engine::new(Arc::new(NoJitter));
    let store = Arc::new(FaultyStore::new(table, "next"));
    let plain = lane(Arc::clone(&store) as Arc<dyn Store>, transport, limits());
    engine.start(Lane { contract: Arc::new(contract.clone()), ..plain });
    (engine, store)
}

/// Creates a table in which rows 1 to 3 have one key, the others keys of their own; row 1 has crashed twice.
async fn group_with_a_suspect(contract: &Contract) -> Arc<MemoryTable> {
    let table = MemoryTable::new(contract.clone());
    for id in 1..=3 {
        table.insert(ordered::record(&table, id, Some("k")));
    }
    crashes(&table, 1, 2).await;
    for id in 4..=40 {
        table.insert(ordered::record(&table, id, Some(&format!("k{id}"))));
    }
    table
}

#[tokio::test(start_paused = true)]
async fn o05_a_suspect_head_is_delivered_alone_and_holds_its_group() {
    for keeps_order in [false, true] {
        let contract = ordered::contract();
        let table = group_with_a_suspect(&contract).await;
        let crashed = Instant::now();
        let mut transport = Watching::taking(Duration::from_secs(3));
        Arc::get_mut(&mut transport).expect("not shared yet").keeps_order = keeps_order;
        let (_engine, _) = outbox(&table, &contract, Arc::clone(&transport) as Arc<dyn Transport>);
        let others = || (4..=40).filter(|id| is_delivered(&table, *id)).count();
        until("the other groups go on", Duration::from_secs(14), || others() == 37).await;
        assert!(!is_delivered(&table, 2), "those behind it wait");
        until("all are delivered", MINUTE, || count(&table, "DELIVERED") == 40).await;
        assert!(crashed.elapsed() >= Duration::from_secs(15), "it waited first");
        assert_eq!(transport.beside_a_suspect.load(SeqCst), 0, "nothing else was in flight beside it");
        assert_eq!(int(&table, 2, "retry_count"), Some(0));
    }
}

fn is_delivered(table: &MemoryTable, id: i64) -> bool {
    text(table, id, "status").as_deref() == Some("DELIVERED")
}

/// If the table has no "not before" column, the worker itself waits.
#[tokio::test(start_paused = true)]
async fn o05_a_suspect_that_waits_is_not_claimed_over_and_over() {
    let mut contract = ordered::contract();
    contract.due.defer = Defer::None;
    let table = group_with_a_suspect(&contract).await;
    let transport = Arc::new(Scripted::delivers());
    let (_engine, store) = outbox(&table, &contract, Arc::clone(&transport) as Arc<dyn Transport>);
    until("the others are delivered", Duration::from_secs(5), || count(&table, "DELIVERED") == 37).await;
    let before = store.claims.load(SeqCst);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let claims = store.claims.load(SeqCst) - before;
    assert!(claims <= 30, "{claims} claims in ten seconds");
    assert_eq!(transport.times("1"), 0, "it waits");
    until("all are delivered", MINUTE, || count(&table, "DELIVERED") == 40).await;
}

/// A composer that takes twelve seconds for a row.
struct Slow(AcceptingComposer);

#[async_trait]
impl Composer for Slow {
    async fn compose(&self, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
        tokio::time::sleep(Duration::from_secs(12)).await;
        self.0.compose(rows).await
    }

    fn size_limit(&self) -> u64 {
        self.0.size_limit()
    }
}

/// A row of another lane is being prepared for longer than the suspect waits for it: it must not be sent beside the
/// suspect.
#[tokio::test(start_paused = true)]
async fn m07_a_call_that_is_only_prepared_is_not_sent_beside_a_suspect() {
    let (suspects, slow) = (table(), table());
    fill(&suspects, 1);
    slow.insert(mail(&slow, 101));
    crashes(&suspects, 1, 2).await;
    tokio::time::sleep(MINUTE).await;
    let transport = Watching::taking(Duration::from_secs(4));
    let engine = Engine::new(Arc::new(NoJitter));
    let store = MemoryStore::open(&slow, 0, "a");
    let second = lane(store, transport.clone() as Arc<dyn Transport>, limits());
    let composer = Arc::new(Slow(AcceptingComposer { limit: 1 << 20 }));
    engine.start(Lane { name: "slow".to_owned(), composer, ..second });
    tokio::time::sleep(Duration::from_secs(1)).await;
    // The suspect waits for ten seconds, and is in flight when the other row is composed.
    let quick = Limits { timeout: Duration::from_secs(5), ..limits() };
    let store = MemoryStore::open(&suspects, 0, "a");
    engine.start(lane(store, transport.clone() as Arc<dyn Transport>, quick));
    until("the suspect is sent", MINUTE, || count(&suspects, "sent") == 1).await;
    until("the other lane goes on", MINUTE * 2, || count(&slow, "sent") == 1).await;
    assert_eq!(transport.beside_a_suspect.load(SeqCst), 0, "nothing else was in flight beside it");
    assert_eq!(int(&slow, 101, "retry_count"), Some(0));
}

/// Large rows wait for the byte budget, and a suspect for the other rows: in one order, or both wait forever.
#[tokio::test(start_paused = true)]
async fn m07_a_large_suspect_among_large_rows_does_not_stop_the_lane() {
    let contract = ordered::contract();
    let table = MemoryTable::new(contract.clone());
    let large = |id, key| {
        let mut row = ordered::record(&table, id, key);
        row.insert("payload".to_owned(), Value::Text("x".repeat(70_000)));
        row
    };
    table.insert(large(1, Some("k")));
    crashes(&table, 1, 2).await;
    (2..=20).for_each(|id| table.insert(large(id, None)));
    let transport = Arc::new(Scripted::delivers().taking(Duration::from_millis(500)));
    let engine = Engine::new(Arc::new(NoJitter));
    let narrow = Limits { large_row_bytes: 96 * 1024, ..limits() };
    let store = MemoryStore::open(&table, 0, "next");
    let plain = lane(store, Arc::clone(&transport) as Arc<dyn Transport>, narrow);
    engine.start(Lane { contract: Arc::new(contract), ..plain });
    until("all are delivered", MINUTE * 2, || count(&table, "DELIVERED") == 20).await;
    assert_eq!(transport.total(), 20, "each once");
}
