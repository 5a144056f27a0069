//! Counts and times the calls of a lane to its transport.

use std::sync::Arc;

use async_trait::async_trait;
use metrics::{Counter, Histogram};
use postrider_seams::{Envelope, Outcome, Transport, transport};
use tokio::time::Instant;

/// Counts and times the calls of a lane to its transport.
pub(crate) struct ObservedTransport {
    inner: Arc<dyn Transport>,
    seconds: Histogram,
    outcomes: [(&'static str, Counter); 7],
}

impl ObservedTransport {
    /// Wraps a transport and registers its metrics with the label `lane`.
    pub fn new(lane: &str, inner: Arc<dyn Transport>) -> Self {
        let counter = |outcome: &'static str| {
            let counter = metrics::counter!("postrider_deliveries_total", "lane" => lane.to_owned(), "outcome" => outcome);
            (outcome, counter)
        };
        Self {
            inner,
            seconds: metrics::histogram!("postrider_deliver_seconds", "lane" => lane.to_owned()),
            outcomes: [
                counter("delivered"),
                counter("retryable"),
                counter("rejected"),
                counter("skipped"),
                counter("deferred"),
                counter("refused"),
                counter("uncertain"),
            ],
        }
    }
}

#[async_trait]
impl Transport for ObservedTransport {
    fn capabilities(&self) -> transport::Capabilities {
        self.inner.capabilities()
    }

    async fn look_up_claimed(&self, rows: &[transport::Addressed]) {
        self.inner.look_up_claimed(rows).await;
    }

    async fn look_up_missing(&self, batch: &[Envelope]) {
        self.inner.look_up_missing(batch).await;
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let started = Instant::now();
        let outcomes = self.inner.deliver(batch, deadline).await;
        self.seconds.record(started.elapsed());
        let mut counts = [0u64; 7];
        for outcome in &outcomes {
            counts[index(outcome)] += 1;
        }
        for ((_, counter), count) in self.outcomes.iter().zip(counts).filter(|(_, count)| *count > 0) {
            counter.increment(count);
        }
        outcomes
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        self.inner.probe().await
    }
}

/// Returns the index of an outcome's counter in `ObservedTransport::outcomes`.
fn index(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Delivered(_) => 0,
        Outcome::Retryable(_) => 1,
        Outcome::Rejected(_) => 2,
        Outcome::Skipped(_) => 3,
        Outcome::Deferred(_) => 4,
        Outcome::Refused(_) => 5,
        Outcome::Uncertain(_) => 6,
    }
}
