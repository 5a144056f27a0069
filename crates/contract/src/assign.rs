//! Column assignments of every transition: the rules of the contract language that have no key of their own.
//!
//! Owns: the list of `column = value` pairs of every transition. Must not: know an SQL dialect; stores translate a
//! [`Set`] into SQL or into a change in memory. Invariant: a column is assigned at most once, and the assignments
//! satisfy the conditions of the target state.

use crate::{ColumnRole, Contract, Expr, LeaseBy, Literal, Move, Stage};

mod claim;
mod result;
mod state;
mod writes;

/// The error text of a row whose lease expired.
pub const LEASE_EXPIRED: &str = "lease expired: the worker that held it is gone";
/// The error text of a ready row that the sweep ends because it has no attempts left.
pub const NO_ATTEMPTS_LEFT: &str = "no attempts left";
/// The member of the error column's JSON that counts expired leases (contracts with `lease.poison`).
pub const TAKEOVERS: &str = "takeovers";
/// The error code of a row that was reclaimed too often.
pub const POISON: &str = "poison";
/// The error message that goes with [`POISON`].
pub const POISON_MESSAGE: &str = "lease expired too often: workers crashed, or lost the lease";
/// The owner value of a row whose lock only means "not before T".
pub const DEFERRED_OWNER: &str = "deferred";

/// One column and the value that a move writes into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    pub column: String,
    pub set: Set,
}

/// The value that a move writes into a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Set {
    Null,
    Literal(Literal),
    /// The first literal if no attempt was made on the row, else the second.
    ByAttempts(Literal, Literal),
    /// The database's clock.
    Now,
    /// The database's clock, but always later than the column's current value.
    NowLater,
    /// Now + the lease duration, but always later than the column's current value.
    LeaseEnd,
    /// Now + the settlement's delay.
    AfterDelay,
    /// Now + the settlement's delay - the lease duration: a lock that expires when the delay is over.
    LockForDelay,
    /// The column's current value; now if that is NULL.
    NowIfNull,
    /// 9999-12-31.
    Never,
    /// The current value plus one; NULL counts as 0.
    Increment,
    /// The current value minus one, at least 0: takes back a counted claim that led to no attempt.
    Decrement,
    /// This worker's id.
    Worker,
    /// The move's reason.
    Reason,
    /// The settlement's receipt.
    Receipt,
    /// The current value plus the given one; NULL counts as 0 in both.
    Plus(Expr),
    Expr(Expr),
    /// The column's JSON with [`TAKEOVERS`] incremented; unchanged where the lock only meant "not before T".
    TakeOver,
    /// A JSON object with the code [`POISON`], its message and the number of take-overs, including this one.
    Poisoned,
    /// The value; the column's current value if it is NULL (`or keep`).
    ExprOrKeep(Expr),
    /// The column's current value; the given one if that is NULL.
    ExprIfNull(Expr),
}

impl Contract {
    /// Returns the assignments of a move: by role first, then the contract's own writes.
    pub fn assignments(&self, step: &Move<'_>) -> Vec<Assignment> {
        let mut list = Assignments::default();
        self.assign_state(step, &mut list);
        self.assign_lease(step, &mut list);
        self.assign_due(step, &mut list);
        self.assign_attempts(step, &mut list);
        self.assign_result(step, &mut list);
        self.assign_writes(step, &mut list);
        self.assign_published_at(step, &mut list);
        self.assign_version(step, &mut list);
        if self.deletes(step) {
            // Nothing is written; the counter is what effects see as `$attempts`.
            let attempts = self.column(ColumnRole::Attempts);
            list.0.retain(|one| Some(one.column.as_str()) == attempts);
        }
        list.0
    }

    /// Returns the assignments that extend a lease.
    pub fn extension(&self, stage: &Stage) -> Vec<Assignment> {
        let mut list = Assignments::default();
        match (
            stage.lease.by,
            self.column(ColumnRole::Due),
            self.column(ColumnRole::LeaseUntil),
            self.column(ColumnRole::ClaimedAt),
        ) {
            (LeaseBy::Due, Some(due), _, _) => list.put(due, Set::LeaseEnd),
            (_, _, Some(until), _) => list.put(until, Set::LeaseEnd),
            (_, _, None, Some(claimed_at)) => list.put(claimed_at, Set::NowLater),
            (_, _, None, None) => {}
        }
        self.put_role(ColumnRole::Version, Set::Increment, &mut list);
        if let Some(updated) = self.column(ColumnRole::Updated) {
            list.put_new(updated, Set::Now);
        }
        list.0
    }

    pub(crate) fn put_role(&self, role: ColumnRole, set: Set, list: &mut Assignments) {
        if let Some(column) = self.column(role) {
            list.put(column, set);
        }
    }
}

/// The assignments of a move while they are collected: at most one for each column.
#[derive(Default)]
pub(crate) struct Assignments(Vec<Assignment>);

impl From<Assignments> for Vec<Assignment> {
    fn from(list: Assignments) -> Self {
        list.0
    }
}

impl Assignments {
    fn get(&self, column: &str) -> Option<&Set> {
        self.0.iter().find(|known| known.column == column).map(|known| &known.set)
    }

    /// Sets the column, replacing an earlier rule.
    pub(crate) fn put(&mut self, column: &str, set: Set) {
        match self.0.iter_mut().find(|known| known.column == column) {
            Some(known) => known.set = set,
            None => self.0.push(Assignment { column: column.to_owned(), set }),
        }
    }

    /// Sets the column, unless an earlier rule did.
    pub(crate) fn put_new(&mut self, column: &str, set: Set) {
        if self.get(column).is_none() {
            self.put(column, set);
        }
    }
}
