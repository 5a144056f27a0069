//! Store: runs one contract's verbs, for one stage, on one database.

use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::Transition;
use tokio::time::Instant;

use crate::handoff::Handoff;
use crate::row::{Claimed, Detail, Fields, Lease};

/// Rows whose message columns are larger than this come without them; see [`Store::load`]. It bounds what a claim of
/// a full batch can bring into memory.
pub const INLINE_LIMIT: u64 = 64 * 1024;

/// What the engine branches on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Try again: the connection dropped, a deadlock, a lock wait.
    Transient,
    /// This very request can't work.
    Permanent,
    /// An operator must act: wrong password, missing table, no permission.
    Misconfigured,
}

/// A store's failure. `message` says what happened, where, and what to do; known secrets are removed from it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub class: Class,
    pub message: String,
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub fn new(class: Class, message: impl Into<String>) -> Self {
        Self { class, message: crate::scrub::scrubbed(message.into()), source: None }
    }

    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

/// Facts about a store, never stub methods or silent fall-backs.
#[derive(Debug, Clone)]
pub struct Capabilities {
    /// `wake` can return before its deadline because rows were written.
    pub notifies: bool,
    /// Claims that can usefully run at once (1 on SQLite).
    pub claimers: usize,
    /// Settles that can usefully run at once (1 on SQLite).
    pub settlers: usize,
    /// The most rows that one settle takes well.
    pub settle_batch: usize,
    /// How long a lease lasts on this table, and how often to extend it.
    pub lease: Duration,
    pub extend_every: Duration,
    /// Is it remembered which recipients have a mail? Without that a partly accepted mail can't be tried again for the
    /// others alone: it fails, and its reason says who has it.
    pub recipient_results: bool,
}

/// What a claim asks for.
#[derive(Debug, Clone)]
pub struct Want {
    pub limit: u32,
}

/// One move to make, fenced by its lease.
#[derive(Debug, Clone)]
pub struct Settlement {
    pub lease: Lease,
    /// One of [`Transition::SETTLES`].
    pub transition: Transition,
    /// For `Retry` and `Deferred`: added to the database's clock.
    pub delay: Duration,
    /// What the error column gets.
    pub reason: Option<String>,
    /// What the receipt column gets.
    pub receipt: Option<String>,
    /// For `$envelope.X` and `$outcome.X`.
    pub envelope: Detail,
    pub outcome: Detail,
    /// Rows of its group behind it, never tried: handed back (`Released`) in the same transaction and before it, so
    /// that nobody can take a later row while this one is still to be tried again.
    pub hands_back: Vec<Lease>,
}

impl Settlement {
    /// Hands a row back, unspent.
    pub fn released(lease: Lease) -> Self {
        Self {
            lease,
            transition: Transition::Released,
            delay: Duration::ZERO,
            reason: None,
            receipt: None,
            envelope: Detail::new(),
            outcome: Detail::new(),
            hands_back: Vec::new(),
        }
    }
}

/// Did the fence let the move through?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    Held,
    /// The lease was lost: somebody else has decided about the row, and nothing was written.
    Lost,
}

/// What a reclaim did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reclaimed {
    /// Begun by a worker that is gone: back to be tried again, and counted as a crash.
    pub retried: u64,
    /// Suspects whose worker died once too often.
    pub dead: u64,
    /// Held by a worker that is gone and never begun: back at no cost.
    pub free: u64,
}

impl Reclaimed {
    pub fn rows(&self) -> u64 {
        self.retried + self.dead + self.free
    }
}

/// The sweeps that a lane runs on its timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepKind {
    /// Ready rows that have no attempt left.
    Spent,
    /// `contract.sweeps[index]`.
    Contract(usize),
}

#[async_trait]
pub trait Store: Send + Sync {
    fn capabilities(&self) -> Capabilities;

    /// For lanes with an external queue; `None` where the store, or the contract, can have none.
    fn handoff(&self) -> Option<&dyn Handoff> {
        None
    }

    /// Takes up to `want.limit` rows for this worker, in the contract's order, in one transaction. Not idempotent;
    /// not cancel-safe: rows of a cancelled claim, or of one whose answer is lost, wait for [`Store::release_unheld`] or
    /// for their lease to run out.
    async fn claim(&self, want: &Want) -> Result<Vec<Claimed>, Error>;

    /// The message columns of rows too large to come with the claim; `None` where the row is gone. Reads only.
    async fn load(&self, leases: &[Lease]) -> Result<Vec<Option<Fields>>, Error>;

    /// Marks rows as begun, right before they are handed to the composer and the transport, and checks their leases:
    /// what a crash finds begun is counted (see [`Store::reclaim`]), what was merely held is not. From now on exactly
    /// `begun` and `others` are this store's begun rows; `others` are those marked before and not yet settled. Answers
    /// for each of `begun` whether it still holds its lease; a row that answers `Lost` must not be sent. One small write
    /// and one read however many rows there are. Idempotent; calls of one store must not overlap.
    async fn begin(&self, begun: &[Lease], others: &[Lease]) -> Result<Vec<Held>, Error>;

    /// Makes the moves, each guarded by its fence; all effects in the same transaction as their move. One answer per
    /// settlement, in order. Safe to repeat: a settlement that was made already answers `Lost` and changes nothing. So
    /// does one that the database can't take (it is left to its lease), where it takes others; an error means that none
    /// of a statement's rows could be settled, and the caller keeps them all.
    async fn settle(&self, moves: &[Settlement]) -> Result<Vec<Held>, Error>;

    /// Prolongs leases. Answers the lease to use from now on (the fence may have changed), or `None` where it was
    /// lost. Must not overlap a settle of the same row.
    async fn extend(&self, leases: &[Lease]) -> Result<Vec<Option<Lease>>, Error>;

    /// Takes back up to `limit` rows whose lease ran out. Those that their worker had begun are counted as crashed and
    /// go on as [`postrider_contract::Crash`] says; the others come back at no cost. Idempotent.
    async fn reclaim(&self, limit: u32) -> Result<Reclaimed, Error>;

    /// Releases the rows that this store has claimed and that are not among `held`: those of claims whose answer never
    /// arrived. They come back at no cost, as [`Settlement::released`] leaves them. Returns how many. No claim of this
    /// store may be in flight. Where the table does not say who claimed a row, none is released. Idempotent.
    async fn release_unheld(&self, held: &[Lease]) -> Result<u64, Error>;

    /// Makes the timed moves of one sweep for up to `limit` rows; answers how many it made. Idempotent.
    async fn sweep(&self, sweep: SweepKind, limit: u32) -> Result<u64, Error>;

    /// Deletes up to `limit` finished rows that are past their retention. Idempotent.
    async fn purge(&self, limit: u32) -> Result<u64, Error>;

    /// How long until the next ready row falls due: zero if one is due now, `None` if none is waiting. Where the due
    /// time is computed a store may answer `None` until a row is due: polling is always enough.
    async fn next_due(&self) -> Result<Option<Duration>, Error>;

    /// Returns when rows were written, or at `deadline`. Cancel-safe. Spurious returns are fine.
    async fn wake(&self, deadline: Instant);

    /// Takes or renews the named lock for `ttl`; false if another worker holds it. Without `migrate`'s own tables
    /// there are no locks, and every worker gets it: what runs under it is safe to run twice.
    async fn lock(&self, name: &str, ttl: Duration) -> Result<bool, Error>;

    /// Gives the named lock back. Idempotent.
    async fn unlock(&self, name: &str) -> Result<(), Error>;

    /// Has an operator paused this lane (on any instance)?
    async fn paused(&self, lane: &str) -> Result<bool, Error>;

    /// Pauses or resumes a lane for all instances on this database. Idempotent.
    async fn set_paused(&self, lane: &str, paused: bool) -> Result<(), Error>;
}
