//! A call that takes long is settled as it goes: rows that were delivered do not wait for the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use async_trait::async_trait;
use postrider_engine::Engine;
use postrider_seams::{Envelope, Failure, Outcome, Receipt, Transport, transport};
use postrider_store_memory::MemoryStore;
use tokio::time::Instant;

use crate::bench::{Even, count, fill, int, lane, limits, table, text, until};

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
    let engine = Engine::new(Arc::new(Even));
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
