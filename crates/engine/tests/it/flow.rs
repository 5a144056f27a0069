//! The loop itself: every row ends in the state, and with the attempts, that the contract defines.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use postrider_engine::{Engine, Health};
use postrider_seams::{Failure, Outcome, RowId, Transport, Value};
use postrider_store_memory::{MemoryStore, MemoryTable};

use crate::fixtures::{
    FaultyStore, NoJitter, Scripted, count, fill, health, int, lane, limits, mail, start, table, text, until,
};

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test(start_paused = true)]
async fn delivers_every_row_once() {
    let table = table();
    fill(&table, 500);
    let transport = Arc::new(Scripted::delivers());
    let engine = start(&table, &transport);
    until("all sent", MINUTE, || count(&table, "sent") == 500).await;
    assert_eq!(transport.total(), 500);
    let status = engine.handle().lane("mail").expect("there");
    assert_eq!((status.claimed, status.delivered, status.held), (500, 500, 0));
    assert_eq!(health(&engine), Health::Running);
}

#[tokio::test(start_paused = true)]
async fn a_lane_that_is_woken_again_soon_does_not_ask_when_the_next_row_is_due() {
    let (table, transport) = (table(), Arc::new(Scripted::delivers()));
    let store = Arc::new(FaultyStore::new(&table, "worker-1"));
    let engine = Engine::new(Arc::new(NoJitter));
    engine.start(lane(Arc::clone(&store) as _, Arc::clone(&transport) as Arc<dyn Transport>, limits()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = store.due_queries.load(SeqCst);
    assert!(before > 0, "an idle lane asks, so that it claims a row when it falls due");
    for id in 1..=100 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        table.insert(mail(&table, id));
    }
    until("all sent", MINUTE, || count(&table, "sent") == 100).await;
    let asked = store.due_queries.load(SeqCst) - before;
    assert!(asked < 10, "{asked} queries for 100 rows");
}

#[tokio::test(start_paused = true)]
async fn holds_no_more_rows_and_deliveries_than_its_limits() {
    let table = table();
    fill(&table, 300);
    let transport = Arc::new(Scripted::delivers().taking(Duration::from_millis(50)));
    let engine = start(&table, &transport);
    for _ in 0..40 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(count(&table, "dispatching") <= limits().max_held);
    }
    until("all sent", MINUTE, || count(&table, "sent") == 300).await;
    assert_eq!(transport.most_at_once.load(SeqCst), limits().concurrency);
    drop(engine);
}

/// Returns the most rows held at once during several calls of the transport that each take `call`.
async fn most_held(call: Duration) -> usize {
    let table = table();
    fill(&table, 400);
    let transport = Arc::new(Scripted::delivers().taking(call));
    let engine = Engine::new(Arc::new(NoJitter));
    let store = MemoryStore::open(&table, 0, "worker");
    engine.start(lane(
        store,
        transport,
        postrider_engine::Limits { max_batch: 80, max_held: 320, ..limits() },
    ));
    let mut most = 0;
    for _ in 0..200 {
        most = most.max(count(&table, "dispatching"));
        tokio::time::sleep((call / 10).max(Duration::from_micros(200))).await;
    }
    most
}

#[tokio::test(start_paused = true)]
async fn o03_a_fast_lane_claims_more_than_its_batch_and_a_slow_one_holds_little() {
    let (fast, slow) = (most_held(Duration::ZERO).await, most_held(Duration::from_secs(2)).await);
    assert!(fast > 80, "claims of 20 hold 80 at most, this lane held {fast}");
    assert!(slow <= 160, "a target that takes its time has no use for more rows: {slow}");
}

#[tokio::test(start_paused = true)]
async fn m03_m04_m06_failures_count_back_off_and_end_failed() {
    let table = table();
    table.insert(mail(&table, 1));
    let transport = Arc::new(Scripted::new(|_| Outcome::Retryable(Failure::new("450 later"))));
    let _engine = start(&table, &transport);
    for (tries, wait) in [(1, 60), (2, 120), (3, 240), (4, 480)] {
        until("a failure is settled", MINUTE, || int(&table, 1, "retry_count") == Some(tries)).await;
        let due = int(&table, 1, "next_attempt_at").expect("set");
        let last = int(&table, 1, "last_attempt_at").expect("set");
        let delay = (due - last) / 1_000_000;
        assert!((wait..=wait + 1).contains(&delay), "try {tries} waits {delay} s");
        assert_eq!(text(&table, 1, "status").as_deref(), Some("queued"));
        tokio::time::sleep(Duration::from_secs(u64::try_from(wait).expect("positive"))).await;
    }
    until("spent", MINUTE, || text(&table, 1, "status").as_deref() == Some("failed")).await;
    assert_eq!(int(&table, 1, "retry_count"), Some(5));
    assert_eq!(text(&table, 1, "last_error").as_deref(), Some("450 later"));
    assert_eq!(transport.total(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_retry_goes_when_it_falls_due_not_at_the_next_poll() {
    let table = table();
    let mut row = mail(&table, 1);
    row.insert("next_attempt_at".to_owned(), Value::Int(table.now() + 90_000));
    table.insert(row);
    let transport = Arc::new(Scripted::delivers());
    let _engine = start(&table, &transport);
    until("sent before the poll", Duration::from_millis(200), || transport.total() == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_bad_row_ends_failed_and_the_others_go_on() {
    let table = table();
    fill(&table, 20);
    for (id, subject) in [(3, "reject"), (7, "panic")] {
        table.edit(&RowId::Int(id), |row| {
            row.insert("subject".to_owned(), Value::Text(subject.to_owned()));
        });
    }
    let transport = Arc::new(Scripted::delivers());
    let _engine = start(&table, &transport);
    until("the rest is sent", MINUTE, || count(&table, "sent") == 18).await;
    until("both failed", MINUTE, || count(&table, "failed") == 2).await;
    assert_eq!(text(&table, 3, "last_error").as_deref(), Some("the subject is bad"), "compact, one line");
    assert!(text(&table, 7, "last_error").expect("a reason").contains("composer failed"));
    assert_eq!(int(&table, 3, "retry_count"), Some(1), "m09: one attempt counted");
}

#[tokio::test(start_paused = true)]
async fn a_large_row_is_loaded_later_and_one_over_the_limit_is_not_loaded() {
    let table = table();
    for (id, bytes) in [(1, 200_000), (2, 2_000_000)] {
        let mut row = mail(&table, id);
        row.insert("body_text".to_owned(), Value::Text("x".repeat(bytes)));
        table.insert(row);
    }
    let transport = Arc::new(Scripted::delivers());
    let store = Arc::new(FaultyStore::new(&table, "w"));
    let engine = Engine::new(Arc::new(NoJitter));
    engine.start(lane(store.clone(), Arc::clone(&transport) as Arc<dyn Transport>, limits()));
    until("both settled", MINUTE, || count(&table, "sent") == 1 && count(&table, "failed") == 1).await;
    assert!(text(&table, 2, "last_error").expect("a reason").contains("too large"));
    assert_eq!(store.loads.load(SeqCst), 1);
}

/// Inserts rows that are too large for a claim.
fn fill_large(table: &MemoryTable, rows: i64) {
    for id in 1..=rows {
        let mut row = mail(table, id);
        row.insert("body_text".to_owned(), Value::Text("x".repeat(100_000)));
        table.insert(row);
    }
}

/// If the database is far away, one round trip per row would limit the throughput.
#[tokio::test(start_paused = true)]
async fn large_rows_are_loaded_several_in_one_call() {
    let table = table();
    fill_large(&table, 100);
    let mut transport = Scripted::delivers();
    transport.batch = 10;
    let transport = Arc::new(transport);
    let store = Arc::new(FaultyStore::new(&table, "w"));
    let engine = Engine::new(Arc::new(NoJitter));
    engine.start(lane(store.clone(), Arc::clone(&transport) as Arc<dyn Transport>, limits()));
    until("all are sent", MINUTE, || count(&table, "sent") == 100).await;
    let loads = store.loads.load(SeqCst);
    assert!(loads < 50, "{loads} calls for 100 rows");
}

#[tokio::test(start_paused = true)]
async fn m09_a_large_row_that_can_never_be_read_fails_instead_of_going_round() {
    let table = table();
    fill_large(&table, 5);
    let transport = Arc::new(Scripted::delivers());
    let store = Arc::new(FaultyStore { unreadable: Some(RowId::Int(4)), ..FaultyStore::new(&table, "w") });
    let engine = Engine::new(Arc::new(NoJitter));
    engine.start(lane(store, Arc::clone(&transport) as Arc<dyn Transport>, limits()));
    until("all settled", MINUTE, || count(&table, "sent") == 4 && count(&table, "failed") == 1).await;
    assert!(text(&table, 4, "last_error").expect("a reason").contains("larger than the server sends"));
    assert_eq!(int(&table, 4, "retry_count"), Some(1));
}

#[tokio::test(start_paused = true)]
async fn uncertain_goes_as_the_contract_says_and_a_silent_transport_is_uncertain() {
    let table = table();
    table.insert(mail(&table, 1));
    let transport = Arc::new(Scripted::delivers().taking(Duration::from_mins(5)));
    let _engine = start(&table, &transport);
    until("retried", MINUTE, || int(&table, 1, "retry_count") == Some(1)).await;
    assert_eq!(text(&table, 1, "last_error").as_deref(), Some("no answer in time"));
}

#[tokio::test(start_paused = true)]
async fn two_engines_share_a_table_and_never_a_row() {
    let table = table();
    fill(&table, 400);
    let transport = Arc::new(Scripted::delivers().taking(Duration::from_millis(3)));
    let _one = start(&table, &transport);
    let two = Engine::new(Arc::new(NoJitter));
    let store = MemoryStore::open(&table, 0, "worker-2");
    two.start(lane(store, Arc::clone(&transport) as Arc<dyn Transport>, limits()));
    until("all sent", MINUTE, || count(&table, "sent") == 400).await;
    assert_eq!(transport.total(), 400);
    assert!(two.handle().lane("mail").expect("there").delivered > 0, "both worked");
}

#[tokio::test(start_paused = true)]
async fn deferred_costs_nothing_and_waits() {
    let table = table();
    table.insert(mail(&table, 1));
    let after = Some(Duration::from_secs(30));
    let transport =
        Arc::new(Scripted::new(move |_| Outcome::Deferred(Failure { after, ..Failure::new("window") })));
    let _engine = start(&table, &transport);
    until("deferred", MINUTE, || transport.total() == 1 && count(&table, "queued") == 1).await;
    assert_eq!(int(&table, 1, "retry_count"), Some(0));
    assert!(int(&table, 1, "next_attempt_at").expect("set") > table.now() + 28_000_000);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(transport.total(), 1);
}

/// Rows that arrive one by one, on a lane whose room is always taken: a claimer that gets room but finds nothing to
/// claim must pass the room on.
#[tokio::test(start_paused = true)]
async fn a_lane_that_may_hold_few_rows_moves_everything() {
    for held in [1, 2, 20] {
        let table = table();
        let transport = Arc::new(Scripted::delivers().taking(Duration::from_millis(7)));
        let engine = Engine::new(Arc::new(NoJitter));
        let few = postrider_engine::Limits { max_held: held, ..limits() };
        let mut store = FaultyStore::new(&table, "w");
        (store.claimers, store.claim_takes) = (4, Duration::from_millis(3));
        engine.start(lane(Arc::new(store), Arc::clone(&transport) as Arc<dyn Transport>, few));
        for id in 1..=200 {
            table.insert(mail(&table, id));
            tokio::time::sleep(Duration::from_millis(u64::try_from(id % 11).expect("small"))).await;
        }
        until("all sent", Duration::from_mins(5), || count(&table, "sent") == 200).await;
        assert_eq!(transport.total(), 200, "held = {held}: each once");
    }
}
