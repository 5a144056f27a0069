//! The rules of a stage: when rows are due, the order of claims, leases, attempts and retries.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Column, ColumnRole, Literal};
use crate::Transition;

/// The rule by which a ready row is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueRule {
    /// The meaning of NULL in the due column.
    pub null: DueNull,
    /// Without a due column: a row is due at the time of this role + the delay for its attempts.
    pub after: Option<ColumnRole>,
    /// With `after`: where the delay that a target asked for is stored, in seconds; the longer delay counts.
    pub retry_after: Option<JsonMember>,
    pub defer: Defer,
}

/// A member of the object in a JSON column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonMember {
    pub column: String,
    pub member: String,
}

/// The meaning of NULL in the due column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueNull {
    Now,
    Never,
}

/// The place where a deferred row stores "not before T".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defer {
    /// In the due column.
    Due,
    /// A lock that expires at T.
    Lease,
    /// Nowhere: the row is due again immediately.
    None,
}

/// The rule by which rows are claimed.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimRule {
    pub order: Vec<ClaimOrder>,
    pub batch: u32,
    /// Minimum age since `created`.
    pub min_age: Duration,
    /// Claims only rows with these values; others in the same table are left alone.
    pub filter: Vec<(String, Literal)>,
    /// Fair queue: rows with different values here are claimed round-robin, however many of one value wait.
    pub fair: Option<Column>,
}

/// The table with the limits of pools: rows in flight, and rows per minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolTable {
    /// `name` or `schema.name`.
    pub table: String,
    /// The column with the pool's key, which a row's `pool` column refers to.
    pub id: String,
    /// The column with the maximum of rows in flight; NULL means no limit.
    pub concurrency: String,
    /// The column with the maximum of rows per minute; NULL means no limit.
    pub rate: String,
    /// The column that pauses the pool: while it is true, its rows wait.
    pub paused: String,
}

/// One key of the claim order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimOrder {
    pub by: OrderBy,
    /// NULLs come last.
    pub descending: bool,
}

/// The column by which rows are claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderBy {
    Role(ColumnRole),
    Column(String),
}

impl ClaimOrder {
    /// Returns the ascending order of a role.
    pub fn of(role: ColumnRole) -> Self {
        Self { by: OrderBy::Role(role), descending: false }
    }

    /// Whether rows are ordered by this role.
    pub fn is_by(&self, role: ColumnRole) -> bool {
        self.by == OrderBy::Role(role)
    }
}

impl std::fmt::Display for ClaimOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.descending { "-" } else { "" };
        match &self.by {
            OrderBy::Role(role) => write!(f, "{sign}{role}"),
            OrderBy::Column(column) => write!(f, "{sign}{column}"),
        }
    }
}

/// Group order: rows of one group are delivered in order, one at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupRule {
    pub by: String,
    /// A value that means "no group", in addition to NULL.
    pub none: Option<Literal>,
    /// The columns that define the order; the id is appended.
    pub sequence: Vec<String>,
    pub on_error: OnError,
    pub run: u32,
}

/// The rule that decides what a failure does to later rows of the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnError {
    Always(GroupMode),
    /// Decided by a column of the row: its name, and the mode for each value. An unlisted value is `Block`.
    ByColumn {
        column: String,
        values: BTreeMap<String, GroupMode>,
    },
}

/// The effect of a failure on later rows of the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupMode {
    /// Rows do not wait for each other.
    Parallel,
    /// Later rows proceed after the first row's first failure.
    Next,
    /// Later rows wait while the first one is retried; they proceed if it ends dead.
    Wait,
    /// Later rows wait until an operator acts.
    Block,
}

/// The rule for leases of claimed rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRule {
    pub by: LeaseBy,
    /// Duration of a claim. After [`Contract::resolve`] it is the one that applies to the table at hand.
    pub duration: Duration,
    /// Duration if the table lacks the optional `lease_until`: extending a lease is then expensive.
    pub duration_without_lease_until: Duration,
    /// The roles that a claim writes and every settle compares.
    pub fence: Vec<ColumnRole>,
    /// Whether an expired lease costs an attempt.
    pub spend: bool,
    /// Without `spend`: the number of expired leases, counted in the error column's JSON, that ends the row.
    pub poison: Option<u32>,
}

/// The columns that define when a lease expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseBy {
    /// Claim time + `duration`, or the time in the `lease_until` column if there is one.
    Time,
    /// The due time: the claim moves it ahead.
    Due,
}

/// The rule that counts attempts and limits them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptsRule {
    pub count: AttemptCounting,
    /// The failure at which `attempts + 1 >= max` is the last; the `max_attempts` role overrides it per row.
    pub max: u32,
    /// Whether NULL in the counter is 0; `None`: if the column allows NULL.
    pub nullable: Option<bool>,
    /// Whether every result except success is `dead` at the limit, including a skip or a rejection.
    pub strict: bool,
}

/// The events that increment the attempt counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptCounting {
    /// Each retry; the last failure is not counted.
    Retries,
    /// Any failure.
    Failures,
    /// Each completed attempt, whatever its result.
    Attempts,
    /// Every claim.
    Claims,
}

impl AttemptCounting {
    /// Whether this transition, which ends a claim, increments the counter.
    pub fn counts(self, transition: Transition) -> bool {
        match self {
            Self::Retries => transition == Transition::Retry,
            Self::Failures => transition.is_failure(),
            Self::Attempts => transition.is_failure() || transition == Transition::Delivered,
            Self::Claims => false,
        }
    }
}

/// The rule for delays between attempts.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryRule {
    pub schedule: Schedule,
    /// The column with the row's schedule: the name of one of `named`, or a JSON list of seconds.
    pub column: Option<String>,
    pub named: BTreeMap<String, Schedule>,
    pub retry_after: RetryAfter,
}

/// The effect of a delay that the target asked for on the planned one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RetryAfter {
    /// The longer of the two applies.
    #[default]
    Minimum,
    /// The requested delay replaces the planned one.
    Exact,
    /// The requested delay is ignored.
    Ignore,
}

/// The delay before attempt `n + 1`, after n attempts.
#[derive(Debug, Clone, PartialEq)]
pub enum Schedule {
    /// `min(base * factor^power, cap) * (1 ± jitter * rand)`.
    Exponential { base: Duration, factor: f64, power: Power, cap: Duration, jitter: f64 },
    /// Fixed delays, each at most `cap`; the last one repeats.
    Delays { delays: Vec<Duration>, cap: Option<Duration>, jitter: f64 },
}

/// The exponent of an exponential schedule after `n` attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    N,
    NMinusOne,
}
