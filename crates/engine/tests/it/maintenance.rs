//! Maintenance tasks and the watchdog.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use postrider_contract::Contract;
use postrider_engine::{Engine, Health, Lane};
use postrider_seams::{Failure, Outcome, Receipt, RowId, Transport, Value};
use postrider_store_memory::{MemoryStore, MemoryTable};

use crate::fixtures::{
    AcceptingComposer, DeadLetterComposer, FaultyStore, NoJitter, Scripted, count, fill, health, lane,
    limits, start, table, text, until,
};

const MINUTE: Duration = Duration::from_mins(1);
const TEN_SECONDS: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn m06_queued_rows_at_the_maximum_are_swept() {
    let table = table();
    fill(&table, 2);
    table.edit(&RowId::Int(1), |row| {
        row.insert("retry_count".to_owned(), Value::Int(9));
    });
    let transport = Arc::new(Scripted::delivers());
    let _engine = start(&table, &transport);
    until("swept", MINUTE * 2, || count(&table, "failed") == 1 && count(&table, "sent") == 1).await;
    assert_eq!(text(&table, 1, "last_error").as_deref(), Some("no attempts left"));
    assert_eq!(transport.times("1"), 0);
}

#[tokio::test(start_paused = true)]
async fn g06_a_retention_of_seconds_is_purged_within_seconds() {
    let text = Contract::builtin("mail_outbox").unwrap();
    let contract = Contract::parse("m.toml", &format!("{text}\n[retention]\nsent = \"4s\"\n")).unwrap();
    let table = MemoryTable::new(contract.clone());
    fill(&table, 3);
    let store = MemoryStore::open(&table, 0, "worker-1");
    let transport = Arc::new(Scripted::delivers()) as Arc<dyn Transport>;
    let engine = Engine::new(Arc::new(NoJitter));
    engine.start(Lane { contract: Arc::new(contract), ..lane(store, transport, limits()) });
    until("all sent", MINUTE, || count(&table, "sent") == 3).await;
    until("purged", Duration::from_millis(6_300), || table.rows().is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn one_claimer_at_a_time_where_the_lane_says_so() {
    let table = table();
    let single = postrider_engine::Limits { single_claimer: true, ..limits() };
    let transport = Arc::new(Scripted::delivers());
    let (one, two) = (Arc::new(FaultyStore::new(&table, "one")), Arc::new(FaultyStore::new(&table, "two")));
    let first = Engine::new(Arc::new(NoJitter));
    first.start(lane(one.clone(), transport.clone() as Arc<dyn Transport>, single));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = Engine::new(Arc::new(NoJitter));
    second.start(lane(two.clone(), transport.clone() as Arc<dyn Transport>, single));
    fill(&table, 100);
    until("all sent", MINUTE, || count(&table, "sent") == 100).await;
    assert!(one.claims.load(SeqCst) > 0);
    assert_eq!(two.claims.load(SeqCst), 0, "the second waits for the lock");
    first.drain(Duration::from_secs(5)).await;
    until("the second takes over", MINUTE, || two.claims.load(SeqCst) > 0).await;
}

/// Starts a lane on which a row is rejected after `delivery`, and its dead letter is sent after `letter`.
fn start_reporting(
    table: &Arc<MemoryTable>,
    delivery: Duration,
    letter: Duration,
) -> (Engine, Arc<Scripted>) {
    let mut transport = Scripted::new(|envelope| {
        if envelope.row.starts_with("letter-") {
            Outcome::Delivered(Receipt::default())
        } else {
            Outcome::Rejected(Failure::new("550 no such user"))
        }
    });
    transport.takes_for =
        Some(Box::new(move |row| if row.starts_with("letter-") { letter } else { delivery }));
    let transport = Arc::new(transport);
    let engine = Engine::new(Arc::new(NoJitter));
    let store = MemoryStore::open(table, 0, "w");
    let plain = lane(store, Arc::clone(&transport) as Arc<dyn Transport>, limits());
    engine.start(Lane { composer: Arc::new(DeadLetterComposer(AcceptingComposer { limit: 1024 })), ..plain });
    (engine, transport)
}

/// Delivery and dead letter together take longer than the watchdog allows for one of them.
#[tokio::test(start_paused = true)]
async fn a_dead_letter_has_its_own_time_before_the_lane_counts_as_stalled() {
    let table = table();
    fill(&table, 1);
    let nearly = limits().timeout.mul_f64(0.95);
    // Later than its deadline, but within a transport's grace.
    let late = limits().timeout + Duration::from_secs(4);
    let (engine, transport) = start_reporting(&table, late, nearly);
    until("it ends", MINUTE, || {
        assert!(!matches!(health(&engine), Health::Stalled { .. }), "{:?}", health(&engine));
        count(&table, "failed") == 1
    })
    .await;
    assert_eq!((transport.times("1"), transport.times("letter-1")), (1, 1));
    assert_eq!(text(&table, 1, "last_error").as_deref(), Some("550 no such user"));
}

#[tokio::test(start_paused = true)]
async fn a_dead_letter_that_is_never_answered_holds_its_row_no_longer_than_a_delivery() {
    let table = table();
    fill(&table, 1);
    let (engine, _transport) = start_reporting(&table, limits().timeout, MINUTE * 60);
    let began = tokio::time::Instant::now();
    until("it ends", MINUTE, || {
        assert!(!matches!(health(&engine), Health::Stalled { .. }), "{:?}", health(&engine));
        count(&table, "failed") == 1
    })
    .await;
    assert!(began.elapsed() <= limits().timeout * 2 + Duration::from_secs(6), "{:?}", began.elapsed());
    assert!(
        text(&table, 1, "last_error").expect("a reason").contains("dead letter not sent: no answer in time")
    );
}

fn is_stalled(engine: &Engine, words: &str) -> bool {
    matches!(health(engine), Health::Stalled { reason } if reason.contains(words))
}

#[tokio::test(start_paused = true)]
async fn the_watchdog_says_so_when_the_store_does_not_answer() {
    let table = table();
    fill(&table, 5);
    let transport = Arc::new(Scripted::delivers());
    let engine = Engine::new(Arc::new(NoJitter));
    let store = Arc::new(FaultyStore::new(&table, "w"));
    store.hangs.store(true, SeqCst);
    engine.start(lane(store.clone(), transport as Arc<dyn Transport>, limits()));
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(health(&engine), Health::Running, "not yet");
    until("stalled", TEN_SECONDS, || is_stalled(&engine, "settle")).await;
    assert!(!health(&engine).is_ready());
    store.hangs.store(false, SeqCst);
    until("all sent", TEN_SECONDS, || count(&table, "sent") == 5).await;
    until("running again", TEN_SECONDS, || health(&engine) == Health::Running).await;
}

#[tokio::test(start_paused = true)]
async fn the_watchdog_says_so_when_due_rows_are_passed_over() {
    let table = table();
    let store = Arc::new(FaultyStore::new(&table, "w"));
    let engine = Engine::new(Arc::new(NoJitter));
    engine.start(lane(store.clone(), Arc::new(Scripted::delivers()) as Arc<dyn Transport>, limits()));
    store.skips.store(true, SeqCst);
    fill(&table, 5);
    until("stalled", TEN_SECONDS, || is_stalled(&engine, "no claim")).await;
    store.skips.store(false, SeqCst);
    until("all sent", TEN_SECONDS, || count(&table, "sent") == 5).await;
    until("running again", TEN_SECONDS, || health(&engine) == Health::Running).await;
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_takes_its_time_is_no_stall() {
    let table = table();
    fill(&table, 1);
    let engine = Engine::new(Arc::new(NoJitter));
    let slow = Arc::new(Scripted::delivers().taking(Duration::from_secs(9)));
    engine.start(lane(Arc::new(FaultyStore::new(&table, "w")), slow as Arc<dyn Transport>, limits()));
    until("it is on its way", TEN_SECONDS, || count(&table, "dispatching") == 1).await;
    while count(&table, "sent") == 0 {
        assert_eq!(health(&engine), Health::Running);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
