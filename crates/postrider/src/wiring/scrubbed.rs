//! Removes known secrets from all answers of targets and queues, before they are stored, logged or shown.
//!
//! Every transport and queue is wrapped where it is built, so that rows, attempts, suppression lists, traces, `/readyz`
//! and logs hold no secrets.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::queue::{AckToken, Error as QueueError, Pointer};
use postrider_seams::scrub::scrubbed;
use postrider_seams::transport::{self, Addressed, Capabilities, TargetHold};
use postrider_seams::{Envelope, Outcome, Queue, RowId, Transport};
use tokio::time::Instant;

/// A transport whose outcomes and errors hold no known secret. What it reports during a call is cleaned by
/// [`Envelope::report_delivered`].
pub struct Scrubbed(pub Arc<dyn Transport>);

#[async_trait]
impl Transport for Scrubbed {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn hold(&self, envelope: &Envelope) -> Option<TargetHold> {
        self.0.hold(envelope)
    }

    async fn look_up_claimed(&self, rows: &[Addressed]) {
        self.0.look_up_claimed(rows).await;
    }

    async fn look_up_missing(&self, batch: &[Envelope]) {
        self.0.look_up_missing(batch).await;
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        self.0.deliver(batch, deadline).await.into_iter().map(Outcome::scrubbed).collect()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        self.0.probe().await.map_err(|error| match error {
            transport::Error::Unreachable(text) => transport::Error::Unreachable(scrubbed(text)),
            transport::Error::Refused(text) => transport::Error::Refused(scrubbed(text)),
        })
    }
}

/// A queue whose errors hold no known secret.
pub struct ScrubbedQueue(pub Arc<dyn Queue>);

fn without_secrets<T>(answer: Result<T, QueueError>) -> Result<T, QueueError> {
    answer.map_err(|error| match error {
        QueueError::Unavailable(text) => QueueError::Unavailable(scrubbed(text)),
        QueueError::Refused(text) => QueueError::Refused(scrubbed(text)),
    })
}

#[async_trait]
impl Queue for ScrubbedQueue {
    fn receivers(&self) -> usize {
        self.0.receivers()
    }

    async fn publish(&self, rows: &[RowId], deadline: Instant) -> Vec<Result<(), QueueError>> {
        self.0.publish(rows, deadline).await.into_iter().map(without_secrets).collect()
    }

    async fn receive(&self, most: usize) -> Result<Vec<Pointer>, QueueError> {
        without_secrets(self.0.receive(most).await)
    }

    async fn acknowledge(&self, tokens: &[AckToken]) -> Result<(), QueueError> {
        without_secrets(self.0.acknowledge(tokens).await)
    }

    async fn give_back(&self, tokens: &[AckToken], after: Duration) -> Result<(), QueueError> {
        without_secrets(self.0.give_back(tokens, after).await)
    }

    async fn release_prefetched(&self) {
        self.0.release_prefetched().await;
    }

    async fn probe(&self) -> Result<(), QueueError> {
        without_secrets(self.0.probe().await)
    }

    async fn waiting(&self) -> Result<u64, QueueError> {
        without_secrets(self.0.waiting().await)
    }

    async fn declare(&self) -> Result<Vec<String>, QueueError> {
        without_secrets(self.0.declare().await)
    }
}
