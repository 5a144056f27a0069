//! Handoff: the additional store operations of a lane with an external queue.
//!
//! The row alone decides whether a queue can carry it: rows without an order and without a pool. The others are claimed
//! from the table, in their order and within their limits, as without a queue.

use async_trait::async_trait;

use crate::row::{ClaimedRow, RowId};
use crate::store::Error;

/// The kind of rows to publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishSource {
    /// Rows of the contract's publishing sweep, which moves them into a ready state.
    Waiting,
    /// Ready rows that have fallen due and are not in the queue: deferred, handed back or to be retried.
    Due,
}

/// The result of a claim of named rows.
#[derive(Debug, Default)]
pub struct PointerClaims {
    pub rows: Vec<ClaimedRow>,
    /// Rows that are locked by another transaction at the moment: their pointers must be delivered again.
    pub busy: Vec<RowId>,
    /// The number of ready rows that no queue can carry: they are claimed from the table.
    pub unqueueable: u64,
}

/// Claims by pointer and publishes rows, for lanes with an external queue.
#[async_trait]
pub trait Handoff: Send + Sync {
    /// Whether the table may have rows that no queue can carry.
    fn may_have_unqueueable_rows(&self) -> bool;

    /// Claims those of the named rows that a queue can carry and that may be delivered, under every condition of a
    /// claim. Not idempotent: of two claims of one row, one gets it.
    async fn claim_by_id(&self, rows: &[RowId]) -> Result<PointerClaims, Error>;

    /// Claims up to `limit` rows that no queue can carry, as `Store::claim` does.
    async fn claim_unqueueable(&self, limit: u32) -> Result<Vec<ClaimedRow>, Error>;

    /// Marks up to `limit` rows as published and returns them: the caller publishes them. Idempotent.
    async fn mark_published(&self, source: PublishSource, limit: u32) -> Result<Vec<RowId>, Error>;

    /// Clears the publication time of rows that the queue refused, unless a worker has claimed them. Returns the number of rows
    /// changed. Idempotent.
    async fn recall(&self, rows: &[RowId]) -> Result<u64, Error>;
}
