//! Leases: extended while a delivery takes long, lost without harm, reclaimed when a worker dies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use async_trait::async_trait;
use postrider_engine::{Engine, Lane, Limits};
use postrider_seams::{Envelope, Outcome, Receipt, RowId, Transport, Value, transport};
use postrider_store_memory::{MemoryStore, MemoryTable};
use tokio::time::Instant;

use crate::fixtures::{
    FaultyStore, NoJitter, Scripted, count, fill, int, lane, limits, mail, start, table, text, until,
};
use crate::ordered;

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test(start_paused = true)]
async fn g02_a_long_delivery_keeps_its_lease() {
    let table = table();
    table.insert(mail(&table, 1));
    let slow = Arc::new(Scripted::delivers().taking(MINUTE * 5));
    let store = Arc::new(FaultyStore::new(&table, "slow"));
    let engine = Engine::new(Arc::new(NoJitter));
    let patient = Limits { timeout: MINUTE * 10, ..limits() };
    engine.start(lane(store.clone(), slow.clone() as Arc<dyn Transport>, patient));
    // A second worker would claim the row if its lease ran out.
    let other = Arc::new(Scripted::delivers());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = Engine::new(Arc::new(NoJitter));
    second.start(lane(MemoryStore::open(&table, 0, "second"), other.clone() as Arc<dyn Transport>, limits()));
    until("sent", MINUTE * 6, || count(&table, "sent") == 1).await;
    assert_eq!((slow.total(), other.total()), (1, 0));
    assert!(store.extends.load(SeqCst) >= 10, "a lease of 60 s is extended every 20 s");
    assert_eq!(int(&table, 1, "retry_count"), Some(0));
}

#[tokio::test(start_paused = true)]
async fn m07_a_dead_workers_row_goes_back_with_one_attempt_spent() {
    let table = table();
    fill(&table, 1);
    let dead = MemoryStore::open(&table, 0, "dead");
    let claimed = postrider_seams::Store::claim(&*dead, 1).await.expect("claimed");
    assert_eq!(claimed.len(), 1);
    postrider_seams::Store::begin(&*dead, &[claimed[0].lease.clone()], &[]).await.expect("begun");
    let transport = Arc::new(Scripted::delivers());
    let engine = start(&table, &transport);
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(count(&table, "dispatching"), 1, "its lease is respected");
    until("taken back and sent", Duration::from_secs(30), || count(&table, "sent") == 1).await;
    assert_eq!(int(&table, 1, "retry_count"), Some(1));
    assert_eq!(engine.handle().lane("mail").expect("there").reclaimed, 1);
}

#[tokio::test(start_paused = true)]
async fn m07_rows_that_a_dead_worker_merely_held_come_back_free() {
    let table = table();
    fill(&table, 20);
    let dead = MemoryStore::open(&table, 0, "dead");
    postrider_seams::Store::claim(&*dead, 20).await.expect("claimed");
    let transport = Arc::new(Scripted::delivers());
    let _engine = start(&table, &transport);
    until("taken back and sent", MINUTE * 2, || count(&table, "sent") == 20).await;
    assert!(
        (1..=20).all(|id| int(&table, id, "retry_count") == Some(0)),
        "nothing was tried, so nothing is spent"
    );
}

/// The process is suspended (SIGSTOP) while it holds rows; another worker claims and sends them.
#[tokio::test(start_paused = true)]
async fn g02_a_row_that_another_worker_has_is_not_sent_by_one_that_comes_late() {
    let table = table();
    fill(&table, 1);
    let transport = Arc::new(Scripted::delivers());
    let store = Arc::new(FaultyStore::new(&table, "late"));
    let thief = MemoryStore::open(&table, 0, "thief");
    store.stops_before_begin.store(true, SeqCst);
    let engine = Engine::new(Arc::new(NoJitter));
    engine.start(lane(Arc::clone(&store) as Arc<dyn postrider_seams::Store>, transport.clone(), limits()));
    until("it is about to send", MINUTE, || store.is_stopped.load(SeqCst)).await;
    table.edit(&RowId::Int(1), |row| {
        row.insert("lease_until".to_owned(), Value::Int(0));
    });
    postrider_seams::Store::reclaim(&*thief, 10).await.expect("reclaimed");
    let stolen = postrider_seams::Store::claim(&*thief, 1).await;
    assert_eq!(stolen.expect("claimed").len(), 1);
    store.stops_before_begin.store(false, SeqCst);
    until("it is handed back", MINUTE, || engine.handle().lane("mail").expect("there").held == 0).await;
    assert_eq!(transport.total(), 0, "another worker has it");
}

/// A transport in which envelopes wait for a connection before they are sent.
struct Queueing {
    waits: Duration,
    sent: AtomicUsize,
    deferred: AtomicUsize,
}

#[async_trait]
impl Transport for Queueing {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(1, 1)
    }

    async fn deliver(&self, batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        tokio::time::sleep(self.waits).await;
        let send = |envelope: &Envelope| match envelope.may_begin() {
            Ok(()) => {
                self.sent.fetch_add(1, SeqCst);
                Outcome::Delivered(Receipt::default())
            }
            Err(outcome) => {
                self.deferred.fetch_add(1, SeqCst);
                outcome
            }
        };
        batch.iter().map(send).collect()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        Ok(())
    }
}

fn start_queueing(table: &Arc<MemoryTable>, waits: Duration) -> (Engine, Arc<FaultyStore>, Arc<Queueing>) {
    let transport = Arc::new(Queueing { waits, sent: AtomicUsize::new(0), deferred: AtomicUsize::new(0) });
    let store = Arc::new(FaultyStore::new(table, "slow"));
    let engine = Engine::new(Arc::new(NoJitter));
    let limits = Limits { timeout: MINUTE * 10, ..limits() };
    engine.start(lane(
        Arc::clone(&store) as Arc<dyn postrider_seams::Store>,
        Arc::clone(&transport) as Arc<dyn Transport>,
        limits,
    ));
    (engine, store, transport)
}

/// The lease could not be extended while the row waited in the transport: another worker may have it.
#[tokio::test(start_paused = true)]
async fn g02_a_row_whose_lease_ran_out_while_it_waited_in_the_transport_is_not_sent() {
    let table = table();
    fill(&table, 1);
    let (_engine, store, transport) = start_queueing(&table, MINUTE * 3);
    until("it is claimed", MINUTE, || count(&table, "dispatching") == 1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    store.away.store(true, SeqCst);
    until("it is not sent", MINUTE * 5, || transport.deferred.load(SeqCst) == 1).await;
    assert_eq!(transport.sent.load(SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn g02_a_row_that_waits_in_the_transport_is_sent_as_long_as_its_lease_is_extended() {
    let table = table();
    fill(&table, 1);
    let (_engine, _store, transport) = start_queueing(&table, MINUTE * 5);
    until("it is sent", MINUTE * 6, || transport.sent.load(SeqCst) == 1).await;
    assert_eq!(transport.deferred.load(SeqCst), 0);
    until("it is settled", MINUTE, || count(&table, "sent") == 1).await;
}

/// Leases of a large claim are extended in several calls. One of them fails: the rows of the others have new fences.
#[tokio::test(start_paused = true)]
async fn g02_an_extension_that_fails_in_part_loses_no_lease() {
    // The fence is the version, which an extension changes.
    let contract = ordered::contract();
    let table = MemoryTable::new(contract.clone());
    (1..=1200).for_each(|id| table.insert(ordered::record(&table, id, None)));
    let lease = contract.stages[0].lease.duration;
    let slow = Arc::new(Scripted::delivers().taking(lease));
    let store = Arc::new(FaultyStore::new(&table, "slow"));
    store.failing_extension.store(2, SeqCst);
    let engine = Engine::new(Arc::new(NoJitter));
    let limits = Limits { batch: 1200, max_batch: 1200, max_held: 1200, timeout: lease * 2, ..limits() };
    let plain = lane(Arc::clone(&store) as Arc<dyn postrider_seams::Store>, slow, limits);
    engine.start(Lane { contract: Arc::new(contract), ..plain });
    until("an extension fails, and all are extended", lease, || store.extends.load(SeqCst) >= 5).await;
    let drained = engine.drain(lease * 2).await;
    assert!(drained.is_complete(), "{drained:?}");
    assert_eq!(
        (count(&table, "DELIVERED"), count(&table, "PENDING")),
        (4, 1196),
        "none is left to its lease"
    );
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_overwrites_nothing() {
    let table = table();
    fill(&table, 1);
    let thief = Arc::clone(&table);
    let transport = Arc::new(Scripted::new(move |_| {
        // Another program changes the row while it is being delivered.
        thief.edit(&RowId::Int(1), |row| {
            row.insert("status".to_owned(), Value::Text("failed".to_owned()));
            row.insert("last_error".to_owned(), Value::Text("stopped by hand".to_owned()));
        });
        Outcome::Delivered(Receipt::default())
    }));
    let engine = start(&table, &transport);
    until("lost", MINUTE, || engine.handle().lane("mail").expect("there").lost == 1).await;
    assert_eq!(text(&table, 1, "status").as_deref(), Some("failed"));
    assert_eq!(text(&table, 1, "last_error").as_deref(), Some("stopped by hand"));
    assert_eq!(engine.handle().lane("mail").expect("there").held, 0);
}

/// If rows were handed back just because their lease is always short, they would be claimed and released forever.
#[tokio::test(start_paused = true)]
async fn a_lease_as_short_as_the_margin_still_delivers() {
    let mut contract = crate::fixtures::contract();
    contract.stages[0].lease.duration = Duration::from_secs(1);
    let table = MemoryTable::new(contract);
    fill(&table, 3);
    let transport = Arc::new(Scripted::delivers());
    let _engine = start(&table, &transport);
    until("sent", Duration::from_secs(10), || count(&table, "sent") == 3).await;
    assert_eq!(transport.total(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_a_row_that_another_session_locks_costs_no_other_row_its_lease() {
    let table = table();
    fill(&table, 3);
    let slow = Arc::new(Scripted::delivers().taking(MINUTE * 3));
    let store = Arc::new(FaultyStore { locked: Some(RowId::Int(2)), ..FaultyStore::new(&table, "slow") });
    let engine = Engine::new(Arc::new(NoJitter));
    let patient = Limits { timeout: MINUTE * 10, ..limits() };
    engine.start(lane(store, slow.clone() as Arc<dyn Transport>, patient));
    let other = Arc::new(Scripted::delivers());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = Engine::new(Arc::new(NoJitter));
    second.start(lane(MemoryStore::open(&table, 0, "second"), other.clone() as Arc<dyn Transport>, limits()));
    until("sent", MINUTE * 6, || count(&table, "sent") == 3).await;
    assert_eq!((other.times("1"), other.times("3")), (0, 0), "their leases were extended");
}
