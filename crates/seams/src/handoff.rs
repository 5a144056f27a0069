//! Handoff: what a lane with an external queue asks of its store besides.
//!
//! Which rows a queue can carry is decided by the row alone: those that keep no order and are of no pool. The others are
//! claimed from the table, in their order and within their limits, as with no queue at all.

use async_trait::async_trait;

use crate::row::{Claimed, RowId};
use crate::store::Error;

/// Rows to publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Those of the contract's publishing sweep, which moves them into a ready state.
    Waiting,
    /// Ready rows that have fallen due and are not on the queue: put off, handed back, to be tried again.
    Due,
}

/// What a claim of named rows came to.
#[derive(Debug, Default)]
pub struct Taken {
    pub rows: Vec<Claimed>,
    /// Could be claimed, but for somebody who looks at them just now: their pointers are to come again.
    pub busy: Vec<RowId>,
    /// Ready, and such that no queue can carry them: they are claimed from the table.
    pub kept: u64,
}

#[async_trait]
pub trait Handoff: Send + Sync {
    /// Has the table rows that no queue can carry?
    fn keeps_rows(&self) -> bool;

    /// Takes those of the named rows that a queue can carry and that may go, under every condition of a claim. Not
    /// idempotent: of two claims of one row, one gets it.
    async fn claim_named(&self, rows: &[RowId]) -> Result<Taken, Error>;

    /// Takes up to `limit` rows that no queue can carry, as `Store::claim` does.
    async fn claim_kept(&self, limit: u32) -> Result<Vec<Claimed>, Error>;

    /// Marks up to `limit` rows as published, and answers which: the caller publishes them. Idempotent.
    async fn offer(&self, offer: Offer, limit: u32) -> Result<Vec<RowId>, Error>;

    /// The queue refused these: undoes what made them wait for it, as far as nobody has claimed them. Answers how many
    /// rows it changed. Idempotent.
    async fn recall(&self, rows: &[RowId]) -> Result<u64, Error>;
}
