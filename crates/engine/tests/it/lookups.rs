//! Look-ups before deliveries: one per claim, and not counted as delivery time.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use postrider_engine::{Engine, Limits};
use postrider_seams::{ClaimedRow, Composer, Envelope, Outcome, Receipt, Transport, transport};
use tokio::time::Instant;

use crate::fixtures::{AcceptingComposer, FaultyStore, NoJitter, count, fill, lane, limits, table, until};

/// The duration of a round trip to the database.
const ROUND_TRIP: Duration = Duration::from_millis(500);

/// A fast target with a suppression list that takes a round trip to read.
#[derive(Default)]
struct Listed {
    claims: Mutex<Vec<usize>>,
    missing: AtomicUsize,
    calls: Mutex<Vec<usize>>,
}

#[async_trait]
impl Transport for Listed {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(20, 2)
    }

    async fn look_up_claimed(&self, rows: &[transport::Addressed]) {
        tokio::time::sleep(ROUND_TRIP).await;
        self.claims.lock().unwrap().push(rows.len());
    }

    async fn look_up_missing(&self, _batch: &[Envelope]) {
        tokio::time::sleep(ROUND_TRIP).await;
        self.missing.fetch_add(1, SeqCst);
    }

    async fn deliver(&self, batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        tokio::time::sleep(Duration::from_millis(batch.len() as u64)).await;
        self.calls.lock().unwrap().push(batch.len());
        batch.iter().map(|_| Outcome::Delivered(Receipt::default())).collect()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        Ok(())
    }
}

/// A composer that knows the recipients of a row before it is composed.
struct Addressing(AcceptingComposer);

#[async_trait]
impl Composer for Addressing {
    async fn compose(&self, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
        self.0.compose(rows).await
    }

    fn size_limit(&self) -> u64 {
        self.0.size_limit()
    }

    async fn recipients(&self, rows: &[&ClaimedRow]) -> Vec<Vec<String>> {
        let to = |row: &&ClaimedRow| Some(row.fields.as_ref()?.get("to").as_text()?.to_owned());
        rows.iter().map(|row| to(row).into_iter().collect()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn slow_look_ups_are_one_per_claim_and_do_not_shrink_calls() {
    let table = table();
    fill(&table, 1000);
    let (transport, store) = (Arc::new(Listed::default()), Arc::new(FaultyStore::new(&table, "worker")));
    let engine = Engine::new(Arc::new(NoJitter));
    let limits = Limits { batch: 100, max_batch: 100, max_held: 400, ..limits() };
    let mut lane = lane(store, Arc::clone(&transport) as Arc<dyn Transport>, limits);
    lane.composer = Arc::new(Addressing(AcceptingComposer { limit: 1 << 20 }));
    engine.start(lane);
    until("all sent", Duration::from_mins(10), || count(&table, "sent") == 1000).await;

    let claims = transport.claims.lock().unwrap().clone();
    assert_eq!(claims.iter().sum::<usize>(), 1000, "every row is looked up once with its claim: {claims:?}");
    assert!(claims.len() <= 12, "a look-up is for a whole claim: {claims:?}");
    let calls = transport.calls.lock().unwrap().clone();
    assert!(calls.len() <= 100, "calls shrank because of the time that look-ups take: {calls:?}");
    assert_eq!(transport.missing.load(SeqCst), calls.len());
}
