//! The queue publisher: marks rows as published, publishes pointers to them to the external queue, and reverts the marks
//! of rows that the queue refuses. The workers of a lane use it ([`follow`], [`publish_all`]), and producers
//! ([`QueueNewRowPublisher`]).
//!
//! Two workers may publish at once: each row is marked by only one of them.
//! Invariant: after a call that succeeds, no row whose pointer the queue refused is marked as published.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::handoff::PublishSource;
use postrider_seams::queue::{self, NewRowPublisher, Queue};
use postrider_seams::store::{Class, Error};
use postrider_seams::{Handoff, RowId, Store};
use tokio::time::Instant;

use crate::maintenance::{CHUNK, LOCK_TTL};
use crate::runner::Runner;

/// Time limit for publishing rows; a queue may have a shorter one.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(10);

/// The result of publishing rows.
#[derive(Debug, Default)]
struct Published {
    /// The number of rows that were marked as published.
    marked: usize,
    /// The number of rows that the queue refused: their marks are reverted, and they wait in the table.
    refused: usize,
    /// The number of refused rows that no worker had claimed.
    recalled: u64,
    /// The reason of the first refusal.
    error: Option<queue::Error>,
}

impl Published {
    /// The number of rows that the queue accepted.
    fn accepted(&self) -> usize {
        self.marked - self.refused
    }

    /// Whether more rows may be left to publish: the chunk was full, and the queue accepted all of it.
    fn may_have_more(&self) -> bool {
        self.refused == 0 && self.marked >= CHUNK as usize
    }
}

/// Publishes pointers to rows that are marked as published, and reverts the marks of those that the queue refuses.
async fn publish(handoff: &dyn Handoff, queue: &dyn Queue, rows: &[RowId]) -> Result<Published, Error> {
    let mut published = Published { marked: rows.len(), ..Published::default() };
    if rows.is_empty() {
        return Ok(published);
    }
    let answers = queue.publish(rows, Instant::now() + PUBLISH_TIMEOUT).await;
    let mut refused = Vec::new();
    for (row, answer) in rows.iter().zip(answers) {
        if let Err(error) = answer {
            published.error.get_or_insert(error);
            refused.push(row.clone());
        }
    }
    published.refused = refused.len();
    if !refused.is_empty() {
        published.recalled = handoff.recall(&refused).await?;
    }
    Ok(published)
}

/// Marks one chunk of rows as published and publishes pointers to them.
async fn publish_chunk(
    handoff: &dyn Handoff,
    queue: &dyn Queue,
    source: PublishSource,
) -> Result<Published, Error> {
    let rows = handoff.mark_published(source, CHUNK).await?;
    publish(handoff, queue, &rows).await
}

/// Publishes one chunk for a worker, which reports a refusal in the health of its lane.
async fn publish_lane_chunk(
    runner: &Runner,
    queue: &dyn Queue,
    handoff: &dyn Handoff,
    source: PublishSource,
) -> Result<Published, Error> {
    let published = publish_chunk(handoff, queue, source).await?;
    if let Some(error) = &published.error {
        runner.queue_failed(error);
    }
    Ok(published)
}

/// Publishes rows that this worker handed back, deferred or will retry as soon as they fall due, because the next poll
/// may be seconds away. Uses no lock, as it concerns few rows. The poller finds any row that is missed here.
pub(crate) async fn follow(runner: Arc<Runner>, queue: Arc<dyn Queue>) {
    loop {
        runner.retry_timer.next().await;
        if runner.state.has_queue_trouble() {
            continue;
        }
        let Some(handoff) = runner.store.handoff() else { return };
        match publish_lane_chunk(&runner, &*queue, handoff, PublishSource::Due).await {
            // Continue at the next tick.
            Ok(published) if published.may_have_more() => runner.retry_timer.falls_due(Duration::ZERO),
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(lane = runner.state.name, %error, "rows that fell due could not be published; the poller will");
            }
        }
    }
}

/// Publishes all rows of this kind, chunk by chunk; one worker at a time does so.
pub(crate) async fn publish_all(
    runner: Arc<Runner>,
    queue: Arc<dyn Queue>,
    source: PublishSource,
) -> Result<(), Error> {
    let Some(handoff) = runner.store.handoff() else { return Ok(()) };
    let name = match source {
        PublishSource::Waiting => format!("publish:{}", runner.state.name),
        PublishSource::Due => format!("publish due:{}", runner.state.name),
    };
    let mut accepted = 0;
    loop {
        // While the queue is known to be away, marking rows would only mean reverting them.
        if runner.state.has_queue_trouble()
            && let Err(error) = queue.probe().await
        {
            runner.queue_failed(&error);
            break;
        }
        // Renewed before each chunk.
        if !runner.store.lock(&name, LOCK_TTL).await? {
            return Ok(());
        }
        let published = publish_lane_chunk(&runner, &*queue, handoff, source).await?;
        accepted += published.accepted();
        if !published.may_have_more() {
            break;
        }
    }
    runner.store.unlock(&name).await?;
    if accepted > 0 {
        tracing::info!(lane = runner.state.name, rows = accepted, task = name, "published");
    }
    Ok(())
}

/// The queue and the table of one lane, for producers: publishes rows that they have just written.
pub struct QueueNewRowPublisher {
    queue: Arc<dyn Queue>,
    store: Arc<dyn Store>,
}

impl QueueNewRowPublisher {
    /// Combines a queue with a store, which must be opened for a lane with a queue.
    pub fn new(queue: Arc<dyn Queue>, store: Arc<dyn Store>) -> Self {
        Self { queue, store }
    }

    fn handoff(&self) -> Result<&dyn Handoff, Error> {
        let none = || Error::new(Class::Misconfigured, "this store was opened without an external queue");
        self.store.handoff().ok_or_else(none)
    }
}

/// Logs that the queue refused rows.
fn log_refusal(published: &Published) {
    if let Some(error) = &published.error {
        tracing::warn!(%error, rows = published.refused, "the queue refuses jobs; they wait in the table");
    }
}

#[async_trait]
impl NewRowPublisher for QueueNewRowPublisher {
    async fn publish(&self, rows: &[RowId]) -> Result<u64, Error> {
        let published = publish(self.handoff()?, &*self.queue, rows).await?;
        log_refusal(&published);
        Ok(published.recalled)
    }

    async fn publish_due(&self) -> Result<u64, Error> {
        let mut accepted = 0;
        loop {
            let published = publish_chunk(self.handoff()?, &*self.queue, PublishSource::Due).await?;
            log_refusal(&published);
            accepted += published.accepted() as u64;
            if !published.may_have_more() {
                return Ok(accepted);
            }
        }
    }
}
