//! Publishes pointers to rows, for workers and for producers: marks the rows as published, publishes them to the
//! queue, and reverts this for those that the queue refuses.
//!
//! Invariant: after a call that succeeds, no row whose pointer the queue refused is marked as published.

use std::time::Duration;

use postrider_seams::handoff::PublishSource;
use postrider_seams::store::Error;
use postrider_seams::{Handoff, Queue, RowId, queue};
use tokio::time::Instant;

/// Time limit for publishing rows; a queue may have a shorter one.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(10);

/// The result of publishing rows.
#[derive(Debug, Default)]
pub struct Published {
    /// The number of rows that were marked as published.
    pub marked: usize,
    /// The number of rows that the queue refused: their marks are reverted, and they wait in the table.
    pub refused: usize,
    /// The number of refused rows that no worker had claimed.
    pub recalled: u64,
    /// The reason of the first refusal.
    pub error: Option<queue::Error>,
}

/// Marks up to `limit` rows as published and publishes pointers to them.
pub async fn mark_and_publish(
    handoff: &dyn Handoff,
    queue: &dyn Queue,
    source: PublishSource,
    limit: u32,
) -> Result<Published, Error> {
    let rows = handoff.mark_published(source, limit).await?;
    publish(handoff, queue, &rows).await
}

/// Publishes pointers to rows that are marked as published, and reverts this for those that the queue refuses.
pub async fn publish(handoff: &dyn Handoff, queue: &dyn Queue, rows: &[RowId]) -> Result<Published, Error> {
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
