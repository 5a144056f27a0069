use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::outcome::{Failure, Receipt};
use postrider_seams::transport::{self, Capabilities};

use super::*;

/// Accepts two records per call and three calls at once, and remembers the largest number of calls at once.
#[derive(Default)]
struct Broker {
    calls: AtomicUsize,
    most: AtomicUsize,
}

#[async_trait]
impl Transport for Broker {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new(2, 3)
    }

    async fn deliver(&self, batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        self.most.fetch_max(self.calls.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        // Later calls end first.
        let first: u64 = batch[0].row.parse().unwrap();
        tokio::time::sleep(Duration::from_millis(40 - first)).await;
        self.calls.fetch_sub(1, Ordering::SeqCst);
        let outcome = |envelope: &Envelope| match envelope.row.as_str() {
            "7" => Outcome::Rejected(Failure::new("seven".to_owned())),
            _ => Outcome::Delivered(Receipt::default()),
        };
        batch.iter().map(outcome).collect()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        Ok(())
    }
}

#[tokio::test]
async fn as_many_calls_run_at_once_as_the_broker_allows_and_results_keep_their_order() {
    let broker = Broker::default();
    let rows: Vec<RowId> = (0..20).map(RowId::Int).collect();
    let answers = publish(&broker, "jobs", &rows, Instant::now() + Duration::from_secs(5)).await;
    assert_eq!(broker.most.load(Ordering::SeqCst), 3);
    let refused: Vec<usize> = (0..answers.len()).filter(|index| answers[*index].is_err()).collect();
    assert_eq!((answers.len(), refused), (20, vec![7]));
}
