//! Faults: the database goes away, rows cannot be settled, the process receives SIGTERM.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use postrider_engine::{Engine, Health};
use postrider_seams::{Store, Transport};
use postrider_store_memory::MemoryStore;

use crate::fixtures::{
    FaultyStore, NoJitter, Scripted, count, fill, health, int, lane, limits, start, table, until,
};

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test(start_paused = true)]
async fn outcomes_are_kept_while_the_store_is_away() {
    let table = table();
    fill(&table, 100);
    let transport = Arc::new(Scripted::delivers().taking(Duration::from_millis(100)));
    let store = Arc::new(FaultyStore::new(&table, "w"));
    let engine = Engine::new(Arc::new(NoJitter));
    engine.start(lane(store.clone(), transport.clone() as Arc<dyn Transport>, limits()));
    until("under way", MINUTE, || transport.total() > 5).await;
    store.away.store(true, SeqCst);
    until("it says so", MINUTE, || matches!(health(&engine), Health::StoreUnavailable { .. })).await;
    let held = table.rows().len() - count(&table, "sent") - count(&table, "queued");
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(held > 0 && held <= limits().max_held, "{held} rows held");
    store.away.store(false, SeqCst);
    until("all sent", MINUTE, || count(&table, "sent") == 100).await;
    assert_eq!(transport.total(), 100, "nothing was sent twice");
    assert_eq!(health(&engine), Health::Running);
}

#[tokio::test(start_paused = true)]
async fn outcomes_are_kept_while_the_store_refuses_them() {
    let table = table();
    fill(&table, 50);
    let transport = Arc::new(Scripted::delivers());
    let store = Arc::new(FaultyStore::new(&table, "w"));
    store.refuses.store(true, SeqCst);
    let engine = Engine::new(Arc::new(NoJitter));
    engine.start(lane(store.clone(), transport.clone() as Arc<dyn Transport>, limits()));
    until("it says so", MINUTE, || !health(&engine).is_ready()).await;
    tokio::time::sleep(MINUTE * 5).await;
    let sent = transport.total();
    assert!(sent <= limits().max_held, "{sent} mails went out, and none could be settled");
    store.refuses.store(false, SeqCst);
    until("all sent", MINUTE, || count(&table, "sent") == 50).await;
    assert_eq!(transport.total(), 50, "nothing was sent twice");
}

#[tokio::test(start_paused = true)]
async fn a_drain_finishes_what_is_under_way_and_hands_back_the_rest() {
    let table = table();
    fill(&table, 100);
    let transport = Arc::new(Scripted::delivers().taking(Duration::from_secs(3)));
    let engine = start(&table, &transport);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let drained = engine.drain(Duration::from_secs(25)).await;
    assert_eq!(drained.left, 0);
    assert_eq!(count(&table, "sent"), 4, "four were under way");
    assert_eq!(count(&table, "queued"), 96);
    assert!((1..=100).all(|id| int(&table, id, "retry_count") == Some(0)));
}

#[tokio::test(start_paused = true)]
async fn a_drain_has_a_limit() {
    let table = table();
    fill(&table, 10);
    let transport = Arc::new(Scripted::delivers().taking(MINUTE * 5));
    let engine = Engine::new(Arc::new(NoJitter));
    let patient = postrider_engine::Limits { timeout: MINUTE * 10, ..limits() };
    let store = MemoryStore::open(&table, 0, "w");
    engine.start(lane(store, transport.clone() as Arc<dyn Transport>, patient));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let handle = engine.handle();
    let drained = engine.drain(Duration::from_secs(2)).await;
    assert_eq!(drained.left, 4, "what is under way is left to its lease");
    assert_eq!(count(&table, "queued"), 6);
    assert_eq!(handle.lane("mail").expect("there").health, Health::Stopped);
}

#[tokio::test(start_paused = true)]
async fn pause_and_resume_keep_every_row() {
    let table = table();
    fill(&table, 60);
    let transport = Arc::new(Scripted::delivers().taking(Duration::from_millis(500)));
    let engine = start(&table, &transport);
    let operator = MemoryStore::open(&table, 0, "operator");
    tokio::time::sleep(Duration::from_secs(1)).await;
    operator.set_paused("mail", true).await.expect("paused");
    until("paused", MINUTE, || health(&engine) == Health::Paused).await;
    until("handed back", MINUTE, || count(&table, "dispatching") == 0).await;
    let sent = transport.total();
    tokio::time::sleep(MINUTE).await;
    assert_eq!(transport.total(), sent, "nothing moves while paused");
    assert!(health(&engine).is_ready(), "as the operator wants it");
    operator.set_paused("mail", false).await.expect("resumed");
    until("all sent", MINUTE, || count(&table, "sent") == 60).await;
    assert_eq!(transport.total(), 60);
}
