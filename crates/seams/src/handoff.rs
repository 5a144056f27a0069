//! Handoff: the additional store operations of a lane with an external queue.
//!
//! The row alone decides whether a queue can carry it: rows without an order and without a pool. The others are claimed
//! from the table, in their order and within their limits, as without a queue.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::queue::{self, Queue};
use crate::row::{Claimed, RowId};
use crate::store::Error;

/// Time limit for publishing rows; a queue may have a shorter one.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(10);

/// The kind of rows to publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Rows of the contract's publishing sweep, which moves them into a ready state.
    Waiting,
    /// Ready rows that have fallen due and are not in the queue: deferred, handed back or to be retried.
    Due,
}

/// The result of a claim of named rows.
#[derive(Debug, Default)]
pub struct Taken {
    pub rows: Vec<Claimed>,
    /// Rows that are locked by another transaction at the moment: their pointers must be delivered again.
    pub busy: Vec<RowId>,
    /// The number of ready rows that no queue can carry: they are claimed from the table.
    pub kept: u64,
}

/// Claims by pointer and publishes rows, for lanes with an external queue.
#[async_trait]
pub trait Handoff: Send + Sync {
    /// Whether the table may have rows that no queue can carry.
    fn keeps_rows(&self) -> bool;

    /// Claims those of the named rows that a queue can carry and that may be delivered, under every condition of a
    /// claim. Not idempotent: of two claims of one row, one gets it.
    async fn claim_named(&self, rows: &[RowId]) -> Result<Taken, Error>;

    /// Claims up to `limit` rows that no queue can carry, as `Store::claim` does.
    async fn claim_kept(&self, limit: u32) -> Result<Vec<Claimed>, Error>;

    /// Marks up to `limit` rows as published and returns them: the caller publishes them. Idempotent.
    async fn offer(&self, offer: Offer, limit: u32) -> Result<Vec<RowId>, Error>;

    /// Reverts the mark of rows that the queue refused, unless a worker has claimed them. Returns the number of rows
    /// changed. Idempotent.
    async fn recall(&self, rows: &[RowId]) -> Result<u64, Error>;
}

/// The result of publishing rows.
#[derive(Debug, Default)]
pub struct Published {
    /// The number of rows that were to be published.
    pub offered: usize,
    /// The number of rows that the queue refused: their marks are reverted, and they wait in the table.
    pub refused: usize,
    /// The number of refused rows that no worker had claimed.
    pub recalled: u64,
    /// The reason of the first refusal.
    pub error: Option<queue::Error>,
}

/// Marks up to `limit` rows as published and publishes pointers to them.
pub async fn offer_and_publish(
    handoff: &dyn Handoff,
    queue: &dyn Queue,
    offer: Offer,
    limit: u32,
) -> Result<Published, Error> {
    let rows = handoff.offer(offer, limit).await?;
    publish(handoff, queue, &rows).await
}

/// Publishes pointers to rows that are marked as published, and reverts the marks of those that the queue refuses.
pub async fn publish(handoff: &dyn Handoff, queue: &dyn Queue, rows: &[RowId]) -> Result<Published, Error> {
    let mut published = Published { offered: rows.len(), ..Published::default() };
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
