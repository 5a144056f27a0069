//! Outcomes that the database refuses: kept, settled again with shorter texts, and no obstacle to other rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use postrider_contract::Transition;
use postrider_engine::{Engine, Health};
use postrider_seams::store::Settlement;
use postrider_seams::{Failure, Outcome, RowId, Transport};
use postrider_store_memory::MemoryTable;

use crate::fixtures::{
    FaultyStore, NoJitter, Scripted, count, fill, health, lane, limits, mail, table, text, until,
};

const MINUTE: Duration = Duration::from_mins(1);

/// Starts a lane whose database refuses these settlements.
fn refusing(
    table: &Arc<MemoryTable>,
    transport: &Arc<Scripted>,
    refuses: impl Fn(&Settlement) -> bool + Send + Sync + 'static,
) -> Engine {
    let store = FaultyStore { refuses_this: Some(Box::new(refuses)), ..FaultyStore::new(table, "w") };
    let engine = Engine::new(Arc::new(NoJitter));
    engine.start(lane(Arc::new(store), transport.clone() as Arc<dyn Transport>, limits()));
    engine
}

fn concerns(settlement: &Settlement, id: i64) -> bool {
    settlement.lease.id == RowId::Int(id) && settlement.transition == Transition::Delivered
}

/// A trigger that refuses every delivery, on a lane with one mail.
#[tokio::test(start_paused = true)]
async fn a_refused_outcome_of_a_quiet_lane_is_kept_until_the_database_accepts_it() {
    let table = table();
    fill(&table, 1);
    let transport = Arc::new(Scripted::delivers());
    let refuses = Arc::new(AtomicBool::new(true));
    let switch = Arc::clone(&refuses);
    let engine = refusing(&table, &transport, move |settlement| {
        switch.load(SeqCst) && settlement.transition == Transition::Delivered
    });
    until("it says so", MINUTE, || !health(&engine).is_ready()).await;
    let Health::StoreUnavailable { reason } = health(&engine) else { panic!("{:?}", health(&engine)) };
    assert!(reason.contains("the text does not fit"), "{reason}");
    tokio::time::sleep(MINUTE * 600).await;
    assert_eq!((transport.total(), count(&table, "dispatching")), (1, 1), "ten hours later it is still held");
    let status = engine.handle().lane("mail").expect("the lane");
    assert_eq!(status.stuck_for, None, "a restart of the process would forget the outcome");
    refuses.store(false, SeqCst);
    until("sent", MINUTE * 2, || count(&table, "sent") == 1).await;
    assert_eq!((transport.total(), health(&engine)), (1, Health::Running));
}

#[tokio::test(start_paused = true)]
async fn a_refused_outcome_stops_no_other_row() {
    let table = table();
    fill(&table, 1);
    let transport = Arc::new(Scripted::delivers());
    let engine = refusing(&table, &transport, |settlement| concerns(settlement, 1));
    until("refused", MINUTE, || transport.total() == 1).await;
    for id in 2..=200 {
        table.insert(mail(&table, id));
    }
    until("all others are sent", MINUTE, || count(&table, "sent") == 199).await;
    assert_eq!(transport.total(), 200, "the first one is not sent again");
    until("ready", MINUTE * 2, || health(&engine) == Health::Running).await;
    tokio::time::sleep(MINUTE * 50).await;
    assert_eq!(transport.times("1"), 1);
    // The database accepts other rows: the cause is in this one.
    until("it is left to its lease", MINUTE * 30, || transport.times("1") > 1).await;
}

/// A column that holds ASCII only, or few characters.
#[tokio::test(start_paused = true)]
async fn a_text_that_a_column_cannot_hold_is_reduced_until_it_fits() {
    let table = table();
    fill(&table, 3);
    let transport = Arc::new(Scripted::new(|envelope| {
        Outcome::Rejected(Failure::new(match envelope.row.as_str() {
            "1" => "550 größer 😀".to_owned(),
            "2" => format!("550 {}", "x".repeat(900)),
            _ => "550 no".to_owned(),
        }))
    }));
    let engine = refusing(&table, &transport, |settlement| {
        settlement.reason.as_ref().is_some_and(|reason| !reason.is_ascii() || reason.len() > 255)
    });
    until("all ended", MINUTE, || count(&table, "failed") == 3).await;
    assert_eq!(text(&table, 1, "last_error").as_deref(), Some("550 gr??er ?"));
    assert_eq!(text(&table, 2, "last_error").map(|reason| reason.len()), Some(200));
    assert_eq!(text(&table, 3, "last_error").as_deref(), Some("550 no"));
    assert_eq!((transport.total(), health(&engine)), (3, Health::Running));
}

#[tokio::test(start_paused = true)]
async fn a_lane_whose_outcomes_are_all_refused_claims_no_more() {
    let table = table();
    fill(&table, 200);
    let transport = Arc::new(Scripted::delivers().taking(Duration::from_secs(2)));
    let engine = refusing(&table, &transport, |settlement| settlement.transition == Transition::Delivered);
    until("it says so", MINUTE, || !health(&engine).is_ready()).await;
    tokio::time::sleep(MINUTE * 10).await;
    assert!(transport.total() < limits().max_held, "{} mails were sent", transport.total());
    assert_eq!(count(&table, "queued") + transport.total(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_drain_tries_every_form_of_a_refused_outcome_and_ends() {
    let table = table();
    fill(&table, 2);
    let transport = Arc::new(Scripted::delivers());
    let engine = refusing(&table, &transport, |settlement| concerns(settlement, 1));
    until("sent", MINUTE, || transport.total() == 2).await;
    let drained = engine.drain(Duration::from_secs(25)).await;
    assert!(drained.in_time);
    assert_eq!((count(&table, "sent"), count(&table, "dispatching")), (1, 1));
}
