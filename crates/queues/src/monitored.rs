//! A decorator for every queue: counts its messages, and fails publications at once while the queue is unavailable.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use metrics::{Counter, Gauge};
use postrider_seams::RowId;
use postrider_seams::queue::{AckToken, Error, Pointer, Queue};
use tokio::time::Instant;

/// Time after a failure during which nothing is published; the next publication then tests whether the queue is back.
const OUTAGE_PAUSE: Duration = Duration::from_secs(5);

/// A queue with metrics and a circuit breaker.
pub struct MonitoredQueue<Q> {
    inner: Q,
    /// Time limit of a publication, even if its caller would wait longer.
    publish_timeout: Duration,
    outage: Mutex<Option<Outage>>,
    published: Counter,
    refused: Counter,
    received: Counter,
    acknowledged: Counter,
    up: Gauge,
}

struct Outage {
    error: Error,
    /// Time at which the next publication may be tried.
    until: Instant,
}

impl<Q: Queue> MonitoredQueue<Q> {
    /// Wraps a queue; `lane` names the lane in the metrics, `publish_timeout` limits each publication.
    pub fn new(inner: Q, lane: &str, publish_timeout: Duration) -> Self {
        let counter = |name: &'static str| metrics::counter!(name, "lane" => lane.to_owned());
        Self {
            inner,
            publish_timeout,
            outage: Mutex::default(),
            published: counter("postrider_queue_published_total"),
            refused: counter("postrider_queue_refused_total"),
            received: counter("postrider_queue_received_total"),
            acknowledged: counter("postrider_queue_acknowledged_total"),
            up: metrics::gauge!("postrider_queue_up", "lane" => lane.to_owned()),
        }
    }

    /// Returns the error if nothing may be published now. The first caller after the pause tries; others still get the
    /// error.
    fn outage_error(&self) -> Option<Error> {
        let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        let current = outage.as_mut()?;
        let now = Instant::now();
        if now < current.until {
            return Some(current.error.clone());
        }
        current.until = now + OUTAGE_PAUSE;
        None
    }

    fn record_result<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        match &result {
            Ok(_) => self.record_up(),
            Err(error) => self.record_outage(error),
        }
        result
    }

    fn record_up(&self) {
        *self.outage.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.up.set(1.0);
    }

    fn record_outage(&self, error: &Error) {
        let current = Outage { error: error.clone(), until: Instant::now() + OUTAGE_PAUSE };
        *self.outage.lock().unwrap_or_else(PoisonError::into_inner) = Some(current);
        self.up.set(0.0);
    }
}

#[async_trait]
impl<Q: Queue> Queue for MonitoredQueue<Q> {
    fn receivers(&self) -> usize {
        self.inner.receivers()
    }

    async fn publish(&self, rows: &[RowId], deadline: Instant) -> Vec<Result<(), Error>> {
        if let Some(error) = self.outage_error() {
            self.refused.increment(rows.len() as u64);
            return vec![Err(error); rows.len()];
        }
        let answers = self.inner.publish(rows, deadline.min(Instant::now() + self.publish_timeout)).await;
        let failed = answers.iter().filter(|answer| answer.is_err()).count();
        self.published.increment((answers.len() - failed) as u64);
        self.refused.increment(failed as u64);
        // One success shows that the queue is available; otherwise the last error is the reason.
        match answers.iter().rev().find_map(|answer| answer.as_ref().err()) {
            Some(error) if failed == answers.len() => self.record_outage(error),
            _ => self.record_up(),
        }
        answers
    }

    async fn receive(&self, limit: usize) -> Result<Vec<Pointer>, Error> {
        let received = self.inner.receive(limit).await;
        match &received {
            Ok(pointers) => {
                self.received.increment(pointers.len() as u64);
                self.up.set(1.0);
            }
            Err(error) => self.record_outage(error),
        }
        received
    }

    async fn acknowledge(&self, tokens: &[AckToken]) -> Result<(), Error> {
        let result = self.inner.acknowledge(tokens).await;
        if result.is_ok() {
            self.acknowledged.increment(tokens.len() as u64);
        }
        result
    }

    async fn give_back(&self, tokens: &[AckToken], after: Duration) -> Result<(), Error> {
        self.inner.give_back(tokens, after).await
    }

    async fn waiting(&self) -> Result<u64, Error> {
        self.inner.waiting().await
    }

    async fn release_prefetched(&self) {
        self.inner.release_prefetched().await;
    }

    async fn probe(&self) -> Result<(), Error> {
        self.record_result(self.inner.probe().await)
    }

    async fn declare(&self) -> Result<Vec<String>, Error> {
        self.record_result(self.inner.declare().await)
    }
}
