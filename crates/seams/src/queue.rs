//! Queue: carries pointers to rows from producers to claimers. It never decides which worker delivers: the conditional
//! update of the claim does, so a duplicate, late or useless pointer is harmless.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::row::RowId;
use crate::store;

/// Default time after which a queue delivers an unacknowledged pointer again: one minute.
pub const DEFAULT_REDELIVERY_TIMEOUT: Duration = Duration::from_mins(1);

/// An error of a queue. Contains no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The queue cannot be reached now, or did not answer in time.
    #[error("{0}")]
    Unavailable(String),
    /// The queue refuses our credentials, or does not exist: an operator must act.
    #[error("{0}")]
    Refused(String),
}

/// The token that acknowledges a pointer; opaque to all but the queue that issued it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AckToken(pub String);

/// A pointer that was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    /// The row; `None` if the message cannot be parsed: another program published it.
    pub row: Option<RowId>,
    pub token: AckToken,
}

/// An external queue that carries pointers to rows.
#[async_trait]
pub trait Queue: Send + Sync {
    /// Returns how many concurrent receives can make progress.
    fn receivers(&self) -> usize;

    /// Publishes a pointer to each row by `deadline`; returns one result per row. A pointer that is not confirmed by
    /// then counts as refused, even if it arrives: a second publication is harmless.
    async fn publish(&self, rows: &[RowId], deadline: Instant) -> Vec<Result<(), Error>>;

    /// Receives up to `most` pointers as soon as there are some; none after about a second without any. Not
    /// cancel-safe: the queue redelivers the pointers of a cancelled call after its own timeout.
    async fn receive(&self, most: usize) -> Result<Vec<Pointer>, Error>;

    /// Acknowledges pointers: the queue may forget them. If this fails they are delivered again.
    async fn acknowledge(&self, tokens: &[AckToken]) -> Result<(), Error>;

    /// Returns pointers to the queue, which redelivers them to any receiver after about `after`.
    async fn give_back(&self, tokens: &[AckToken], after: Duration) -> Result<(), Error>;

    /// Returns the approximate number of pointers in the queue that wait to be received. Changes nothing.
    async fn waiting(&self) -> Result<u64, Error>;

    /// Returns prefetched pointers to the queue, for other receivers: this one pauses.
    async fn release_prefetched(&self) {}

    /// Checks that the queue exists with everything it needs, and accepts our credentials. Changes nothing.
    async fn probe(&self) -> Result<(), Error>;

    /// Creates the missing parts of the queue; returns what it created. Never changes existing parts. Idempotent.
    async fn declare(&self) -> Result<Vec<String>, Error>;
}

/// Publishes rows that were just made ready: the part of a lane's queue that producers use.
#[async_trait]
pub trait NewRowPublisher: Send + Sync {
    /// Publishes the rows; reverts those that the queue refuses, and returns their number. The state of the rows is
    /// correct either way.
    async fn publish(&self, rows: &[RowId]) -> Result<u64, store::Error>;

    /// Publishes rows that are due and in no queue, whatever made them due: a poller of the lane would find them a few
    /// seconds later. Returns how many the queue accepted.
    async fn publish_due(&self) -> Result<u64, store::Error>;
}
