//! Queue: hands pointers to rows from those who make rows ready to those who claim them. It never decides who delivers:
//! the conditional move of the claim does, so a pointer that comes twice, late or for nothing is harmless.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::row::RowId;
use crate::store;

/// Why a queue did not do what it was asked. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It can't be reached now, or did not answer in time.
    #[error("{0}")]
    Away(String),
    /// It refuses us, or is not there: an operator must act.
    #[error("{0}")]
    Refused(String),
}

/// What acknowledges a pointer; only the queue that gave it knows what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt(pub String);

/// A pointer that was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    /// `None` where it can't be read: somebody else put it there.
    pub row: Option<RowId>,
    pub receipt: Receipt,
}

#[async_trait]
pub trait Queue: Send + Sync {
    /// Receives at once that can make progress.
    fn receivers(&self) -> usize;

    /// Publishes a pointer to each row, and answers for each, by `deadline`. What was not confirmed by then counts as
    /// refused, whatever became of it: a second publication is harmless.
    async fn publish(&self, rows: &[RowId], deadline: Instant) -> Vec<Result<(), Error>>;

    /// Up to `most` pointers as soon as there are some; none after about a second without any. Not cancel-safe: pointers
    /// of a cancelled call come again when the queue's own patience ends.
    async fn receive(&self, most: usize) -> Result<Vec<Pointer>, Error>;

    /// The queue may forget these. Where this fails they come again.
    async fn acknowledge(&self, receipts: &[Receipt]) -> Result<(), Error>;

    /// These are to come again, to anyone, after about so long.
    async fn give_back(&self, receipts: &[Receipt], after: Duration) -> Result<(), Error>;

    /// About how many pointers wait on the queue for somebody to receive them. Changes nothing.
    async fn waiting(&self) -> Result<u64, Error>;

    /// Nothing is received for a while: what was fetched ahead is to go to others.
    async fn rest(&self) {}

    /// Is the queue there, with all that belongs to it, and does it accept us? Changes nothing.
    async fn probe(&self) -> Result<(), Error>;

    /// Makes what of it is missing, and says what it made. It never changes what is there. Idempotent.
    async fn declare(&self) -> Result<Vec<String>, Error>;
}

/// Hands rows that were just made ready to whoever claims them: the part of a lane's queue that producers see.
#[async_trait]
pub trait Handing: Send + Sync {
    /// Publishes the rows; takes back those that the queue refuses, and answers how many. Their state is as it should be
    /// either way.
    async fn hand(&self, rows: &[RowId]) -> Result<u64, store::Error>;

    /// The same for rows that are due and on no queue, whoever made them so: a poller of the lane would find them in a few
    /// seconds. Answers how many the queue has now.
    async fn hand_due(&self) -> Result<u64, store::Error>;
}
