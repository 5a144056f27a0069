//! Leases: kept while a delivery takes long, lost without harm, taken back when a worker dies.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use postrider_engine::Engine;
use postrider_seams::{Outcome, Receipt, RowId, Transport, Value};
use postrider_store_memory::MemoryStore;

use crate::bench::{Even, Faulty, Scripted, count, fill, int, lane, limits, mail, start, table, text, until};

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test(start_paused = true)]
async fn g2_a_long_delivery_keeps_its_lease() {
    let table = table();
    table.insert(mail(&table, 1));
    let slow = Arc::new(Scripted::delivers().taking(MINUTE * 5));
    let store = Arc::new(Faulty::new(&table, "slow"));
    let engine = Engine::new(Arc::new(Even));
    let patient = postrider_engine::Limits { timeout: MINUTE * 10, ..limits() };
    engine.start(lane(store.clone(), slow.clone() as Arc<dyn Transport>, patient));
    // A second worker would take the row over if its lease ran out.
    let other = Arc::new(Scripted::delivers());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = Engine::new(Arc::new(Even));
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
    let claimed =
        postrider_seams::Store::claim(&*dead, &postrider_seams::Want { limit: 1 }).await.expect("claimed");
    assert_eq!(claimed.len(), 1);
    let transport = Arc::new(Scripted::delivers());
    let engine = start(&table, &transport);
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(count(&table, "dispatching"), 1, "its lease is respected");
    until("taken back and sent", Duration::from_secs(30), || count(&table, "sent") == 1).await;
    assert_eq!(int(&table, 1, "retry_count"), Some(1));
    assert_eq!(engine.handle().lane("mail").expect("there").reclaimed, 1);
}

#[tokio::test(start_paused = true)]
async fn m07_a_row_that_kills_its_workers_ends_failed() {
    let table = table();
    fill(&table, 1);
    let transport = Arc::new(Scripted::delivers());
    table.edit(&RowId::Int(1), |row| {
        row.insert("retry_count".to_owned(), Value::Int(4));
    });
    let dead = MemoryStore::open(&table, 0, "dead");
    postrider_seams::Store::claim(&*dead, &postrider_seams::Want { limit: 1 }).await.expect("claimed");
    let _engine = start(&table, &transport);
    until("given up", MINUTE * 2, || count(&table, "failed") == 1).await;
    assert_eq!(int(&table, 1, "retry_count"), Some(5));
    assert!(text(&table, 1, "last_error").expect("a reason").contains("lease expired"));
    assert_eq!(transport.total(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_overwrites_nothing() {
    let table = table();
    fill(&table, 1);
    let thief = Arc::clone(&table);
    let transport = Arc::new(Scripted::new(move |_| {
        // Another program decides about the row while it is being delivered.
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

/// Handing rows back because their lease is short by nature would claim and release them for ever.
#[tokio::test(start_paused = true)]
async fn a_lease_as_short_as_the_margin_still_delivers() {
    let mut contract = crate::bench::contract();
    contract.stages[0].lease.duration = Duration::from_secs(1);
    let table = postrider_store_memory::MemoryTable::new(contract);
    fill(&table, 3);
    let transport = Arc::new(Scripted::delivers());
    let _engine = start(&table, &transport);
    until("sent", Duration::from_secs(10), || count(&table, "sent") == 3).await;
    assert_eq!(transport.total(), 3);
}
