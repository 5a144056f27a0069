//! Store: executes the verbs of one contract, for one stage, on one database.

use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::Transition;
use tokio::time::Instant;

use crate::handoff::Handoff;
use crate::row::{ClaimedRow, Detail, Fields, Lease};

/// The maximum size of message columns that a claim returns, in bytes; larger rows come without them (see
/// [`Store::load`]). It bounds the memory of a full batch.
pub const INLINE_LIMIT: u64 = 64 * 1024;

/// The class of a store's error, by which the engine decides how to proceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Retry: the connection dropped, a deadlock, a lock wait.
    Transient,
    /// This request can never succeed.
    Permanent,
    /// An operator must act: wrong password, missing table, no permission.
    Misconfigured,
}

/// An error of a store. `message` says what happened, where, and what to do; known secrets are removed from it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub class: Class,
    pub message: String,
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Creates an error without a source; removes known secrets from the message.
    pub fn new(class: Class, message: impl Into<String>) -> Self {
        Self { class, message: crate::scrub::scrubbed(message.into()), source: None }
    }

    /// Adds the error that caused this one.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

/// The properties of a store, which the engine uses instead of stub methods or silent fall-backs.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a store, not the states of one")]
#[derive(Debug, Clone)]
pub struct Capabilities {
    /// Whether `wake` can return before its deadline because rows were written.
    pub notifies: bool,
    /// The useful number of concurrent claims (1 on SQLite).
    pub claimers: usize,
    /// The useful number of concurrent settles (1 on SQLite).
    pub settlers: usize,
    /// The maximum number of rows that one settle handles efficiently.
    pub settle_batch: usize,
    /// The same while the database is distant: larger transactions cost less than more round trips.
    pub settle_batch_distant: usize,
    /// The duration of a lease on this table; `extend_every` is the time between two extensions.
    pub lease: Duration,
    pub extend_every: Duration,
    /// Whether the table stores which recipients have a mail. Without that, a partly accepted mail cannot be retried
    /// for the others alone: it fails, and its reason lists who lacks it.
    pub recipient_results: bool,
    /// Whether the table also stores them when a row is deferred. Without that, a mail that the end of a call interrupts
    /// between two recipients costs an attempt.
    pub recipient_results_on_deferral: bool,
    /// The longest reason that a row stores, in characters; `None` if any length fits. A mail of which a row could not
    /// name every recipient that lacks it is not called delivered.
    pub reason_limit: Option<usize>,
    /// The longest recipient results that are stored, in bytes; `None` if any length fits.
    pub recipients_limit: Option<usize>,
    /// Whether `release_lost_claims` finds the rows of a lost answer: the table records who claimed a row.
    pub finds_lost_claims: bool,
}

/// One transition to write, fenced by its lease.
#[derive(Debug, Clone)]
pub struct Settlement {
    pub lease: Lease,
    /// One of [`Transition::SETTLES`].
    pub transition: Transition,
    /// For `Retry` and `Deferred`: the delay, which is added to the database's clock.
    pub delay: Duration,
    /// The value of the error column.
    pub reason: Option<String>,
    /// The value of the receipt column.
    pub receipt: Option<String>,
    /// Values for `$envelope.X`; `outcome` has those for `$outcome.X`.
    pub envelope: Detail,
    pub outcome: Detail,
    /// Untried rows of the same group behind it: handed back (`Released`) in the same transaction and before it, so
    /// that no worker can claim a later row while this one is still to be retried.
    pub releases: Vec<Lease>,
}

impl Settlement {
    /// Creates a settlement that hands a row back without counting an attempt.
    pub fn released(lease: Lease) -> Self {
        Self {
            lease,
            transition: Transition::Released,
            delay: Duration::ZERO,
            reason: None,
            receipt: None,
            envelope: Detail::new(),
            outcome: Detail::new(),
            releases: Vec::new(),
        }
    }

    /// Whether the row comes back without a request to its target: a rate does not count it. A receiver that postpones
    /// a row has answered, with a status.
    pub fn is_untried(&self) -> bool {
        match self.transition {
            Transition::Released => true,
            Transition::Deferred => !self.outcome.contains_key("status"),
            _ => false,
        }
    }
}

/// Whether the fence allowed a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseResult {
    Held,
    /// The lease was lost: another worker or an operator has changed the row, and nothing was written.
    Lost,
    /// The lease holds, but the database rejects what a settle writes into this row, now or for good: nothing was
    /// written.
    Refused,
}

/// The result of a reclaim, in rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reclaimed {
    /// Begun by a worker that is gone: to be retried, and counted as a crash.
    pub retried: u64,
    /// Suspects that reached their limit of crashes.
    pub dead: u64,
    /// Held but not begun by a worker that is gone: ready again at no cost.
    pub free: u64,
}

impl Reclaimed {
    /// Returns the total number of reclaimed rows.
    pub fn rows(&self) -> u64 {
        self.retried + self.dead + self.free
    }
}

/// The sweeps that a lane runs on a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepKind {
    /// Moves ready rows that have no attempt left.
    Exhausted,
    /// The contract's own sweep: `contract.sweeps[index]`.
    Contract(usize),
}

/// One contract's table on one database, as one stage uses it.
#[async_trait]
pub trait Store: Send + Sync {
    /// Returns the properties of this store.
    fn capabilities(&self) -> Capabilities;

    /// Returns the operations for lanes with an external queue; `None` if the store or the contract supports none.
    fn handoff(&self) -> Option<&dyn Handoff> {
        None
    }

    /// Claims up to `limit` rows for this worker, in the contract's order, in one transaction. Not idempotent; not
    /// cancel-safe: rows of a cancelled claim, or of one whose answer is lost, wait for [`Store::release_lost_claims`] or
    /// for the end of their lease.
    async fn claim(&self, limit: u32) -> Result<Vec<ClaimedRow>, Error>;

    /// Loads the message columns of rows that were too large for the claim; `None` if the row is gone. Reads only.
    async fn load(&self, leases: &[Lease]) -> Result<Vec<Option<Fields>>, Error>;

    /// Marks rows as begun, right before they are composed and sent, and checks their leases: a crash is counted
    /// against begun rows (see [`Store::reclaim`]), not against rows that were only held. From now on exactly `begun`
    /// and `others` are this store's begun rows; `others` are those marked before and not yet settled. Returns for each
    /// of `begun` whether its lease is still held; a row that is `Lost` must not be sent. One small write and one read,
    /// whatever the number of rows. Idempotent; calls of one store must not overlap.
    async fn begin(&self, begun: &[Lease], others: &[Lease]) -> Result<Vec<LeaseResult>, Error>;

    /// Writes the transitions, each guarded by its fence, with all effects in the same transaction. Returns one answer
    /// per settlement, in order. Idempotent: a settlement that was already written returns `Lost` and changes nothing.
    /// One that the database rejects returns `Refused`, whatever becomes of the others; its `releases` are released
    /// all the same. If all are rejected, the call fails with their error, of class `Permanent`. The caller keeps what
    /// was refused, and what an error of another class left unknown.
    async fn settle(&self, moves: &[Settlement]) -> Result<Vec<LeaseResult>, Error>;

    /// Extends leases. Returns the lease to use from now on (the fence may have changed), or `None` if it was lost.
    /// Must not overlap a settle of the same row.
    async fn extend(&self, leases: &[Lease]) -> Result<Vec<Option<Lease>>, Error>;

    /// Reclaims up to `limit` rows whose lease ran out. Rows that were begun are counted as crashed and proceed as
    /// [`postrider_contract::Crash`] defines; the others become ready at no cost. Idempotent.
    async fn reclaim(&self, limit: u32) -> Result<Reclaimed, Error>;

    /// Releases the rows that this store has claimed and that are not among `held`: those of claims whose answer was
    /// lost. They become ready at no cost, as with [`Settlement::released`]. Returns their number. No claim of this
    /// store may be in flight. If the table does not record who claimed a row, none is released. Idempotent.
    async fn release_lost_claims(&self, held: &[Lease]) -> Result<u64, Error>;

    /// Makes the timed transitions of one sweep for up to `limit` rows; returns their number. Idempotent.
    async fn sweep(&self, sweep: SweepKind, limit: u32) -> Result<u64, Error>;

    /// Deletes up to `limit` finished rows that are past their retention; returns their number. Idempotent.
    async fn purge(&self, limit: u32) -> Result<u64, Error>;

    /// Returns the time until the next ready row falls due: zero if one is due now, `None` if none waits. If the due
    /// time is computed, a store may return `None` until a row is due: polling is always sufficient.
    async fn next_due(&self) -> Result<Option<Duration>, Error>;

    /// Waits until rows were written, or until `deadline`. Cancel-safe. May return early.
    async fn wake(&self, deadline: Instant);

    /// Acquires or renews the named lock for `ttl`; false if another worker holds it. Without the tables of `migrate`
    /// there are no locks, and every worker acquires it: tasks under a lock are safe to run twice.
    async fn lock(&self, name: &str, ttl: Duration) -> Result<bool, Error>;

    /// Releases the named lock. Idempotent.
    async fn unlock(&self, name: &str) -> Result<(), Error>;

    /// Whether an operator has paused this lane (on any instance).
    async fn paused(&self, lane: &str) -> Result<bool, Error>;

    /// Pauses or resumes a lane for all instances on this database. Idempotent.
    async fn set_paused(&self, lane: &str, paused: bool) -> Result<(), Error>;
}
