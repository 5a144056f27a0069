//! The rules of a stage: when rows are due, in which order they are taken, how leases, counters and waits work.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Column, Literal, Role};
use crate::Transition;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// What NULL in the due column means.
    pub null: DueNull,
    /// No due column: due = that role's time + the delay for `attempts`.
    pub after: Option<Role>,
    /// With `after`: a JSON column and its member that holds the seconds that a target asked for; the longer wait counts.
    pub wish: Option<Wish>,
    pub defer: Defer,
}

/// Seconds in a member of a JSON column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    pub column: String,
    pub member: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueNull {
    Now,
    Never,
}

/// Where a row that is put off keeps "not before T".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defer {
    /// In the due column.
    Due,
    /// As a lock that runs out at T.
    Lease,
    /// Nowhere: the row is due again at once.
    None,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub order: Vec<Order>,
    pub batch: u32,
    /// Since `created`.
    pub min_age: Duration,
    /// Rows of others in the same table are left alone.
    pub filter: Vec<(String, Literal)>,
    /// Rows with different values here are claimed turn and turn about, however many of one wait.
    pub fair: Option<Column>,
}

/// The table that says how many rows of a pool may be in flight, and how many may go in a minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// `name` or `schema.name`.
    pub table: String,
    /// What the role `pool` of a row names.
    pub id: String,
    /// NULL: no limit.
    pub concurrency: String,
    /// In a minute; NULL: no limit.
    pub rate: String,
    /// While true, its rows wait.
    pub paused: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    pub role: Role,
    /// NULLs come last.
    pub descending: bool,
}

/// Rows of one group are delivered in order, one at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    pub by: String,
    /// This value, besides NULL, means no group.
    pub none: Option<Literal>,
    /// Columns; the id is appended.
    pub sequence: Vec<String>,
    pub on_error: OnError,
    pub run: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnError {
    Always(Hold),
    /// The row says: column, and what each of its values means. An unlisted value is `Block`.
    ByColumn {
        column: String,
        values: BTreeMap<String, Hold>,
    },
}

/// What a failure does to the rows behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Order does not matter.
    Parallel,
    /// The next goes after the head's first failure.
    Next,
    /// They wait while the head is being retried; a dead head lets them go.
    Wait,
    /// They wait until an operator acts.
    Block,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub by: LeaseBy,
    /// How long a claim holds. After [`Contract::resolve`] this is the one that the table at hand gets.
    pub duration: Duration,
    /// How long it holds where the table lacks the optional `lease_until`: nobody can extend it cheaply then.
    pub without: Duration,
    /// What a claim writes and every settle compares.
    pub fence: Vec<Role>,
    /// Does an expired lease cost an attempt?
    pub spend: bool,
    /// Where it does not: expired leases are counted in the error column's JSON, and so many of them end the row.
    pub poison: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseBy {
    /// Claim time + `duration`, or the `lease_until` column where there is one.
    Time,
    /// The due time is moved on.
    Due,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempts {
    pub count: Count,
    /// The failure with `attempts + 1 >= max` is the last; the `max_attempts` role overrides it per row.
    pub max: u32,
    /// NULL is 0.
    pub nullable: bool,
    /// At the limit every result but success is `dead`, a skip or a rejection too.
    pub strict: bool,
}

/// What adds one to the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Going back for another try; the last failure leaves it.
    Retries,
    /// Any failure.
    Failures,
    /// Any completed try, whatever came of it.
    Attempts,
    /// Every claim.
    Claims,
}

impl Count {
    /// Does this transition, which ends a claim, add one?
    pub fn counts(self, transition: Transition) -> bool {
        match self {
            Self::Retries => transition == Transition::Retry,
            Self::Failures => transition.is_failure(),
            Self::Attempts => transition.is_failure() || transition == Transition::Delivered,
            Self::Claims => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    pub schedule: Schedule,
    /// The row names its schedule (one of `named`), or holds a JSON list of seconds, in this column.
    pub column: Option<String>,
    pub named: BTreeMap<String, Schedule>,
    pub asked: Asked,
}

/// What a delay that the target asked for does to the planned one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Asked {
    /// The longer of the two counts.
    #[default]
    Least,
    /// It takes the place of the planned one.
    Exact,
    /// The planned one holds, whatever the target asks for.
    Ignore,
}

/// How long to wait before try `n + 1`, where n tries have been made.
#[derive(Debug, Clone, PartialEq)]
pub enum Schedule {
    /// `min(base * factor^power, cap) * (1 ± jitter * rand)`.
    Exponential { base: Duration, factor: f64, power: Power, cap: Duration, jitter: f64 },
    /// The last repeats; each at most `cap`.
    Delays { delays: Vec<Duration>, cap: Option<Duration>, jitter: f64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    N,
    NMinusOne,
}
