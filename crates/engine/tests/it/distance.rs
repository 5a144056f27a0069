//! A distant database: every call to it takes a round trip, and deliveries must not wait for it. Time is virtual, so
//! the rates are exact.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use postrider_engine::{Engine, Limits};
use postrider_store_memory::MemoryTable;
use tokio::time::Instant;

use crate::fixtures::{FaultyStore, NoJitter, Scripted, count, fill, lane, limits, table, until};

const ROWS: usize = 3000;

/// Rows of a lane with the default limits of mails, over a relay that takes 20 mails on each of 8 connections.
fn roomy() -> Limits {
    Limits { concurrency: 8, batch: 200, max_batch: 500, max_batch_distant: 2000, max_held: 2000, ..limits() }
}

fn start(table: &Arc<MemoryTable>, round_trip: Duration, call: Duration) -> (Engine, Arc<FaultyStore>) {
    let mut transport = Scripted::delivers().taking(call);
    transport.batch = 20;
    let mut store = FaultyStore::new(table, "worker");
    store.claimers = 2;
    store.claim_takes = 3 * round_trip;
    store.call_takes = round_trip;
    let engine = Engine::new(Arc::new(NoJitter));
    let store = Arc::new(store);
    engine.start(lane(Arc::clone(&store) as _, Arc::new(transport), roomy()));
    (engine, store)
}

/// Returns the seconds that a part of the rows takes, once the sizes have adapted and before the table runs empty.
async fn seconds(round_trip: Duration) -> f64 {
    let table = table();
    fill(&table, i64::try_from(ROWS).expect("few"));
    let (_engine, _store) = start(&table, round_trip, Duration::from_millis(80));
    let minutes = Duration::from_mins(10);
    until("half is sent", minutes, || count(&table, "sent") >= ROWS / 2).await;
    let began = Instant::now();
    until("most are sent", minutes, || count(&table, "sent") >= ROWS * 9 / 10).await;
    began.elapsed().as_secs_f64()
}

#[tokio::test(start_paused = true)]
async fn g01_a_distant_database_keeps_most_of_the_rate() {
    let near = seconds(Duration::from_millis(1)).await;
    let far = seconds(Duration::from_millis(100)).await;
    assert!(near / far >= 0.6, "{near} s with a database 1 ms away, {far} s with one 100 ms away");
}

/// A crash charges rows that are marked, so a slow target gets none marked ahead, however distant the database.
#[tokio::test(start_paused = true)]
async fn g01_nothing_is_marked_ahead_for_a_slow_target() {
    let table = table();
    fill(&table, 400);
    let (_engine, store) = start(&table, Duration::from_millis(100), Duration::from_secs(5));
    until("several calls were made", Duration::from_mins(5), || count(&table, "sent") >= 40).await;
    for _ in 0..200 {
        // In flight, or delivered and being settled.
        let marked = store.marked.load(SeqCst);
        assert!((1..=16).contains(&marked), "{marked} rows are marked for 8 deliveries of one row each");
        tokio::time::sleep(Duration::from_millis(97)).await;
    }
}
