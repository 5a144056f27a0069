//! Claims that the database commits but whose answer is lost: their rows do not wait for the end of their lease (G2).

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use postrider_contract::ColumnRole;
use postrider_engine::{Drained, Engine, Lane};
use postrider_seams::{Store as _, Transport};
use postrider_store_memory::{MemoryStore, MemoryTable};
use tokio::time::Instant;

use crate::fixtures::{FaultyStore, NoJitter, Scripted, count, fill, int, lane, limits, table, text, until};

const MINUTE: Duration = Duration::from_mins(1);

/// Far less than the lease of one minute.
const SECONDS: Duration = Duration::from_secs(3);

fn start(store: &Arc<FaultyStore>, transport: &Arc<Scripted>) -> Engine {
    let engine = Engine::new(Arc::new(NoJitter));
    engine.start(lane(store.clone(), transport.clone() as Arc<dyn Transport>, limits()));
    engine
}

fn assert_unspent(table: &MemoryTable, rows: i64) {
    assert!((1..=rows).all(|id| int(table, id, "retry_count") == Some(0)), "an attempt was charged");
}

#[tokio::test(start_paused = true)]
async fn g02_rows_of_a_claim_whose_answer_was_lost_are_delivered_within_seconds() {
    let table = table();
    fill(&table, 100);
    let transport = Arc::new(Scripted::delivers());
    let store = Arc::new(FaultyStore::new(&table, "w"));
    store.loses_claims.store(3, SeqCst);
    let _engine = start(&store, &transport);
    until("all sent", SECONDS, || count(&table, "sent") == 100).await;
    assert_eq!(transport.total(), 100, "each once");
    assert_unspent(&table, 100);
}

#[tokio::test(start_paused = true)]
async fn g02_rows_that_are_held_stay_where_they_are_when_an_answer_is_lost() {
    let table = table();
    fill(&table, 60);
    let transport = Arc::new(Scripted::delivers().taking(Duration::from_secs(5)));
    let store = Arc::new(FaultyStore::new(&table, "w"));
    let _engine = start(&store, &transport);
    until("under way", MINUTE, || transport.most_at_once.load(SeqCst) == 4).await;
    let other = MemoryStore::open(&table, 0, "other");
    let others = other.claim(3).await.expect("claimed");
    store.loses_claims.store(1, SeqCst);
    until("looked", MINUTE, || store.releases.load(SeqCst) > 0).await;
    let foreign = |id| text(&table, id, "claimed_by").as_deref() == Some("other");
    assert_eq!(
        (1..=60).filter(|id| foreign(*id)).count(),
        others.len(),
        "another worker's rows stay with it"
    );
    // Those rows are sent once their lease has run out.
    until("all sent", MINUTE * 3, || count(&table, "sent") == 60).await;
    assert_eq!(transport.total(), 60, "each once");
    assert_unspent(&table, 60);
}

#[tokio::test(start_paused = true)]
async fn g02_a_claim_that_is_made_after_its_connection_was_lost_is_found_as_well() {
    let table = table();
    let transport = Arc::new(Scripted::delivers());
    let store = Arc::new(FaultyStore::new(&table, "w"));
    store.loses_claims.store(1, SeqCst);
    let _engine = start(&store, &transport);
    until("looked", MINUTE, || store.releases.load(SeqCst) == 1).await;
    // The server was still executing the claim.
    fill(&table, 5);
    let late = store.inner.claim(5).await.expect("claimed");
    assert_eq!(late.len(), 5);
    let began = Instant::now();
    until("all sent", MINUTE, || count(&table, "sent") == 5).await;
    assert!(began.elapsed() < SECONDS, "{:?}", began.elapsed());
    assert_unspent(&table, 5);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_looked_for_while_every_claim_is_answered() {
    let table = table();
    fill(&table, 50);
    let transport = Arc::new(Scripted::delivers());
    let store = Arc::new(FaultyStore::new(&table, "w"));
    let _engine = start(&store, &transport);
    until("all sent", MINUTE, || count(&table, "sent") == 50).await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(store.releases.load(SeqCst), 0);
    store.loses_claims.store(1, SeqCst);
    tokio::time::sleep(MINUTE * 10).await;
    assert_eq!(store.releases.load(SeqCst), 5, "a few looks, and then no more");
}

#[tokio::test(start_paused = true)]
async fn g02_a_drain_releases_rows_of_a_lost_answer() {
    let table = table();
    fill(&table, 10);
    let transport = Arc::new(Scripted::delivers());
    let store = FaultyStore { claim_takes: SECONDS, ..FaultyStore::new(&table, "w") };
    let store = Arc::new(store);
    store.loses_claims.store(1, SeqCst);
    let engine = start(&store, &transport);
    tokio::time::sleep(Duration::from_secs(1)).await;
    // The claim is in flight: it is committed, but its answer is lost.
    let drained = engine.drain(Duration::from_secs(25)).await;
    assert!(drained.is_complete(), "{drained:?}");
    assert_eq!((store.claims.load(SeqCst), count(&table, "queued")), (1, 10));
    assert_unspent(&table, 10);
}

/// Drains a lane while it claims, so that the claim's answer is lost and this many searches for its rows fail.
async fn drained_with_failing_searches(searches: usize) -> (Drained, Arc<MemoryTable>) {
    let table = table();
    fill(&table, 10);
    let store = Arc::new(FaultyStore { claim_takes: SECONDS, ..FaultyStore::new(&table, "w") });
    store.loses_claims.store(1, SeqCst);
    store.failing_releases.store(searches, SeqCst);
    let engine = start(&store, &Arc::new(Scripted::delivers()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    (engine.drain(Duration::from_secs(25)).await, table)
}

#[tokio::test(start_paused = true)]
async fn g02_a_drain_searches_until_the_rows_of_a_lost_answer_are_released() {
    let (drained, table) = drained_with_failing_searches(5).await;
    assert!(drained.is_complete(), "{drained:?}");
    assert_eq!(count(&table, "queued"), 10);
    assert_unspent(&table, 10);
}

#[tokio::test(start_paused = true)]
async fn g02_a_drain_is_not_complete_while_rows_of_a_lost_answer_are_leased() {
    let (drained, table) = drained_with_failing_searches(usize::MAX).await;
    assert_eq!((drained.is_complete(), drained.unanswered), (false, 1), "{drained:?}");
    assert_eq!(count(&table, "dispatching"), 10);
}

/// Without an owner column such rows cannot be found: they may be leased for the length of a lease.
#[tokio::test(start_paused = true)]
async fn g02_a_drain_is_not_complete_if_rows_of_a_lost_answer_cannot_be_found() {
    let lease = crate::ordered::contract().stages[0].lease.duration;
    for (waits, complete) in [(Duration::from_secs(1), false), (lease + MINUTE, true)] {
        let mut contract = crate::ordered::contract();
        contract.columns.0.remove(&ColumnRole::Owner);
        let table = MemoryTable::new(contract.clone());
        let store = Arc::new(FaultyStore::new(&table, "w"));
        store.loses_claims.store(1, SeqCst);
        let engine = Engine::new(Arc::new(NoJitter));
        let transport = Arc::new(Scripted::delivers());
        let plain = lane(store, transport as Arc<dyn Transport>, limits());
        engine.start(Lane { contract: Arc::new(contract), ..plain });
        tokio::time::sleep(waits).await;
        let drained = engine.drain(Duration::from_secs(25)).await;
        assert_eq!(drained.is_complete(), complete, "{waits:?}: {drained:?}");
    }
}
