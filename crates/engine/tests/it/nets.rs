//! Safety nets and the watchdog.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use postrider_engine::{Engine, Health};
use postrider_seams::{RowId, Transport, Value};

use crate::bench::{Even, Faulty, Scripted, count, fill, health, lane, limits, start, table, text, until};

const MINUTE: Duration = Duration::from_mins(1);

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
    assert_eq!(text(&table, 1, "last_error").as_deref(), Some("attempts spent"));
    assert_eq!(transport.times("1"), 0);
}

#[tokio::test(start_paused = true)]
async fn one_claimer_at_a_time_where_the_lane_says_so() {
    let table = table();
    let single = postrider_engine::Limits { single: true, ..limits() };
    let transport = Arc::new(Scripted::delivers());
    let (one, two) = (Arc::new(Faulty::new(&table, "one")), Arc::new(Faulty::new(&table, "two")));
    let first = Engine::new(Arc::new(Even));
    first.start(lane(one.clone(), transport.clone() as Arc<dyn Transport>, single));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = Engine::new(Arc::new(Even));
    second.start(lane(two.clone(), transport.clone() as Arc<dyn Transport>, single));
    fill(&table, 100);
    until("all sent", MINUTE, || count(&table, "sent") == 100).await;
    assert!(one.claims.load(SeqCst) > 0);
    assert_eq!(two.claims.load(SeqCst), 0, "the second waits for the lock");
    first.drain(Duration::from_secs(5)).await;
    until("the second takes over", MINUTE, || two.claims.load(SeqCst) > 0).await;
}

#[tokio::test(start_paused = true)]
async fn the_watchdog_says_so_when_nothing_moves() {
    let table = table();
    fill(&table, 5);
    let transport = Arc::new(Scripted::delivers());
    let engine = Engine::new(Arc::new(Even));
    let store = Arc::new(Faulty::new(&table, "w"));
    store.hangs.store(true, SeqCst);
    engine.start(lane(store, transport as Arc<dyn Transport>, limits()));
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(health(&engine), Health::Running, "not yet");
    until("stalled", MINUTE, || matches!(health(&engine), Health::Stalled { .. })).await;
    assert!(!health(&engine).is_ready());
}
