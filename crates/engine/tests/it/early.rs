//! A call that takes long is settled as it goes: rows that were delivered do not wait for the others.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use postrider_engine::{Engine, Lane};
use postrider_seams::{Envelope, Failure, Outcome, Receipt, Transport, transport};
use postrider_store_memory::{MemoryStore, MemoryTable};
use tokio::time::Instant;

use crate::fixtures::{
    AcceptingComposer, DeadLetterComposer, NoJitter, count, fill, int, lane, limits, mail, table, text,
    unreachable, until,
};

/// A broker that acknowledges all records but one at once, and answers about that one when the test lets it.
#[derive(Default)]
struct OneSilent {
    answers: AtomicBool,
}

#[async_trait]
impl Transport for OneSilent {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(10, 1)
    }

    async fn deliver(&self, batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        let receipt = |envelope: &Envelope| Receipt {
            id: Some(format!("receipt-{}", envelope.row)),
            ..Receipt::default()
        };
        for envelope in batch.iter().filter(|envelope| envelope.row != "3") {
            envelope.report_delivered(&receipt(envelope));
        }
        while batch.iter().any(|envelope| envelope.row == "3") && !self.answers.load(SeqCst) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let answer = |envelope: &Envelope| match envelope.row.as_str() {
            "3" => Outcome::Rejected(Failure::new("no such topic")),
            _ => Outcome::Delivered(receipt(envelope)),
        };
        batch.iter().map(answer).collect()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn o02_acknowledged_rows_are_settled_while_the_call_goes_on() {
    let table = table();
    fill(&table, 9);
    let broker = Arc::new(OneSilent::default());
    let engine = Engine::new(Arc::new(NoJitter));
    engine.start(lane(MemoryStore::open(&table, 0, "worker"), Arc::clone(&broker) as _, limits()));
    until("all others are sent", Duration::from_secs(5), || count(&table, "sent") == 8).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(text(&table, 3, "status").as_deref(), Some("dispatching"), "its call goes on");
    assert_eq!(engine.handle().lane("mail").expect("there").held, 1, "the others are not held any more");
    broker.answers.store(true, SeqCst);
    until("the last one ends", Duration::from_secs(5), || count(&table, "failed") == 1).await;
    assert_eq!(count(&table, "sent"), 8);
    for id in [1, 2, 4, 9] {
        assert_eq!(text(&table, id, "provider_message_id"), Some(format!("receipt-{id}")));
        assert_eq!(int(&table, id, "retry_count"), Some(0));
    }
    let status = engine.handle().lane("mail").expect("there");
    assert_eq!((status.delivered, status.failed, status.lost, status.held), (8, 1, 0, 0), "each counts once");
}

/// What becomes of a call with row 3.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Unreachable,
    Rejected,
    /// It panics after it has reported the other rows as delivered.
    Panics,
    /// It never returns after that.
    Hangs,
}

/// Delivers every row but 3; probes and dead letters take a minute.
struct AllButOne {
    ends: Ends,
    tried: Mutex<Vec<String>>,
}

impl AllButOne {
    async fn fail(&self, others: &[Envelope]) {
        for envelope in others.iter().filter(|envelope| envelope.row != "3") {
            envelope.report_delivered(&Receipt::default());
        }
        if self.ends == Ends::Hangs {
            tokio::time::sleep(Duration::from_mins(10)).await;
        }
        panic!("a transport's bug");
    }
}

#[async_trait]
impl Transport for AllButOne {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(10, 1)
    }

    async fn deliver(&self, batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        self.tried.lock().expect("no panic").extend(batch.iter().map(|envelope| envelope.row.clone()));
        if batch[0].row.starts_with("letter-") {
            tokio::time::sleep(Duration::from_mins(1)).await;
        }
        if batch.iter().any(|envelope| envelope.row == "3") && matches!(self.ends, Ends::Panics | Ends::Hangs)
        {
            self.fail(batch).await;
        }
        let answer = |envelope: &Envelope| match (envelope.row.as_str(), self.ends) {
            ("3", Ends::Unreachable) => unreachable(),
            ("3", _) => Outcome::Rejected(Failure::new("no such topic")),
            _ => Outcome::Delivered(Receipt::default()),
        };
        batch.iter().map(answer).collect()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        tokio::time::sleep(Duration::from_mins(1)).await;
        Ok(())
    }
}

/// Starts a lane that sends rows 1 to 5 in one call.
async fn one_call(ends: Ends) -> (Engine, Arc<MemoryTable>, Arc<AllButOne>) {
    let table = table();
    table.insert(mail(&table, 100));
    let target = Arc::new(AllButOne { ends, tried: Mutex::default() });
    let engine = Engine::new(Arc::new(NoJitter));
    let plain = lane(MemoryStore::open(&table, 0, "worker"), Arc::clone(&target) as _, limits());
    engine.start(Lane {
        composer: Arc::new(DeadLetterComposer(AcceptingComposer { limit: 1 << 20 })),
        ..plain
    });
    until("the speed is known", Duration::from_secs(5), || count(&table, "sent") == 1).await;
    fill(&table, 5);
    until("they are sent", Duration::from_secs(5), || target.tried.lock().expect("no panic").len() >= 6)
        .await;
    (engine, table, target)
}

#[tokio::test(start_paused = true)]
async fn delivered_rows_do_not_wait_for_a_probe_that_another_row_causes() {
    let (_engine, table, _) = one_call(Ends::Unreachable).await;
    until("the others are settled", Duration::from_millis(100), || count(&table, "sent") == 5).await;
}

#[tokio::test(start_paused = true)]
async fn delivered_rows_do_not_wait_for_a_dead_letter_of_another_row() {
    let (_engine, table, _) = one_call(Ends::Rejected).await;
    until("the others are settled", Duration::from_millis(100), || count(&table, "sent") == 5).await;
    until("the last one ends", Duration::from_mins(1), || count(&table, "failed") == 1).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_reported_as_delivered_counts_although_the_call_failed() {
    for ends in [Ends::Panics, Ends::Hangs] {
        let (_engine, table, target) = one_call(ends).await;
        until("the others are settled", Duration::from_millis(200), || count(&table, "sent") == 5).await;
        until("it is tried again", Duration::from_mins(5), || int(&table, 3, "retry_count") == Some(2)).await;
        let tried = target.tried.lock().expect("no panic").clone();
        for row in ["1", "2", "4", "5"] {
            assert_eq!(tried.iter().filter(|tried| *tried == row).count(), 1, "row {row} is not sent again");
        }
    }
}
