//! The checked form of a contract: every name resolved, every default filled in, every stage complete in itself.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::Transition;

/// What one table means.
#[derive(Debug, Clone, PartialEq)]
pub struct Contract {
    pub name: String,
    pub version: Version,
    pub table: Table,
    pub columns: Columns,
    /// Composer field → column(s).
    pub message: BTreeMap<String, MessageField>,
    pub states: Vec<State>,
    /// States that the application itself makes, besides the ready ones.
    pub producer: Vec<StateId>,
    pub stages: Vec<Stage>,
    pub due: Due,
    pub claim: Claim,
    pub group: Option<Group>,
    pub sweeps: Vec<Sweep>,
    pub cancel: Option<OperatorMove>,
    pub requeue: Option<OperatorMove>,
    pub complete: Option<OperatorMove>,
    pub retention: Vec<Retention>,
    pub effects: Vec<Effect>,
    pub writes: Vec<Write>,
    pub joins: Vec<Join>,
    /// A name that operators already use (an environment variable) → the contract key that it sets.
    pub settings: BTreeMap<String, String>,
    pub dynamodb: Option<DynamoDb>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

/// The table and its one-column key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub schema: Option<String>,
    pub name: String,
    pub id: String,
    pub time: TimeForm,
}

/// How times are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeForm {
    /// The database's own type; on SQLite any of its usual forms, written back in the form found.
    Native,
    EpochSeconds,
    EpochMillis,
    Iso8601,
}

/// A column by its name; an optional one (`"name?"`) is used where the table has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Column {
    pub name: String,
    pub optional: bool,
}

/// What a column is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    Id,
    Status,
    Attempts,
    MaxAttempts,
    Due,
    ClaimedAt,
    LeaseUntil,
    Attempted,
    Owner,
    Version,
    Error,
    Receipt,
    Created,
    Updated,
    Finished,
    Duration,
    Priority,
    Pool,
}

/// The columns that play a role. `Role::Id` is always there: it is `table.id`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Columns(pub BTreeMap<Role, Column>);

impl Columns {
    /// The name of the column that plays `role`, if any.
    pub fn get(&self, role: Role) -> Option<&str> {
        self.0.get(&role).map(|column| column.name.as_str())
    }
}

/// What a composer reads under one of its field names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageField {
    Column(Column),
    /// A table of them: inner name → column.
    Columns(BTreeMap<String, Column>),
}

/// An index into [`Contract::states`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateId(pub usize);

/// A state is what its columns hold. States are disjoint.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    pub name: String,
    /// All of them hold. The status column comes first.
    pub conditions: Vec<(String, Condition)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    Is(Literal),
    Null(bool),
    /// 9999-12-31, for due columns where NULL means now.
    Never(bool),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

/// One step of a table's life; one lane runs one stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    pub name: String,
    pub composer: String,
    pub ready: Vec<StateId>,
    pub claimed: Claimed,
    pub delivered: StateId,
    /// Also where release, defer and reclaim go.
    pub retry: StateId,
    pub dead: StateId,
    pub rejected: StateId,
    pub skipped: StateId,
    pub uncertain: Uncertain,
    /// It may have no transport; its ready state is then final.
    pub optional: bool,
    pub attempts: Attempts,
    pub retry_rule: Retry,
    pub lease: Lease,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    State(StateId),
    /// The state does not change: the due time moves on (`lease.by = "due"`).
    Same,
}

/// What to do with a message that was sent and never answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uncertain {
    Retry,
    Dead,
    Delivered,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// What NULL in the due column means.
    pub null: DueNull,
    /// No due column: due = that role's time + the delay for `attempts`.
    pub after: Option<Role>,
    pub defer: Defer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueNull {
    Now,
    Never,
}

/// Where "not before T" is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defer {
    /// In the due column.
    Due,
    /// As a lock that runs out at T.
    Lease,
    /// In the worker's memory: lost with it.
    Memory,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub order: Vec<Order>,
    pub batch: u32,
    /// Since `created`.
    pub min_age: Duration,
    /// Rows of others in the same table are left alone.
    pub filter: Vec<(String, Literal)>,
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseBy {
    /// Claim time + `duration`, or the `lease_until` column where there is one.
    Time,
    /// The due time is moved on.
    Due,
    /// One relay under the store's lock.
    Exclusive,
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

/// A timed move outside any lease.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    pub from: Vec<StateId>,
    pub to: StateId,
    pub when: When,
    pub every: Duration,
    pub reason: Option<String>,
    /// Hand the row to the lane's queue.
    pub publish: bool,
    /// Only where the lane has an external queue.
    pub only_queued: bool,
    /// What this very sweep writes besides the state.
    pub writes: Vec<(Column, Expr)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum When {
    Always,
    OlderThan {
        age: Duration,
        since: String,
    },
    /// When the time in this column has passed. NULL means never, but for a `publish` sweep: at once.
    At {
        column: String,
    },
}

/// An operator's move. A requeue with no `to` goes to the first ready state of the stage that ended there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorMove {
    pub moves: Vec<(StateId, StateId)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    pub state: StateId,
    pub after: Duration,
    /// Columns, the first that is not NULL counts.
    pub since: Vec<String>,
}

/// A row inserted with the move, for fenced rows only, in the same transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    pub on: Vec<Transition>,
    pub table: String,
    pub values: Vec<(String, Expr)>,
}

/// What a transition writes besides state, counters and due time.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    pub on: Vec<Transition>,
    pub column: Column,
    pub value: Expr,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Null,
    Literal(Literal),
    Now,
    Id,
    /// The state that the row moved to, as its status column holds it.
    State,
    From,
    Reason {
        optional: bool,
    },
    Attempts,
    ClaimedAt,
    Worker,
    Tsid,
    Row {
        column: String,
        optional: bool,
    },
    Envelope {
        field: String,
        optional: bool,
    },
    Outcome {
        field: String,
        optional: bool,
    },
    Json(Vec<(String, Expr)>),
}

/// An equality join that feeds the composer, read after the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join {
    pub alias: String,
    pub table: String,
    /// This table's column = (alias or `row`, column).
    pub on: Vec<(String, (String, String))>,
    pub columns: Vec<String>,
    pub optional: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamoDb {
    pub layout: String,
    pub index: String,
    pub ttl: String,
}

impl Contract {
    pub fn state(&self, id: StateId) -> &State {
        &self.states[id.0]
    }

    pub fn state_named(&self, name: &str) -> Option<StateId> {
        self.states.iter().position(|state| state.name == name).map(StateId)
    }

    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.name == name)
    }

    /// The column that plays `role`; the id's is the table's key.
    pub fn column(&self, role: Role) -> Option<&str> {
        if role == Role::Id { Some(&self.table.id) } else { self.columns.get(role) }
    }
}

impl Stage {
    /// Where `transition` leads from this stage; `None` for those that stages do not define.
    pub fn target(&self, transition: Transition) -> Option<StateId> {
        Some(match transition {
            Transition::Claimed => match self.claimed {
                Claimed::State(state) => state,
                Claimed::Same => return None,
            },
            Transition::Delivered => self.delivered,
            Transition::Retry | Transition::Deferred | Transition::Released | Transition::Reclaimed => {
                self.retry
            }
            Transition::Dead => self.dead,
            Transition::Rejected => self.rejected,
            Transition::Skipped => self.skipped,
            Transition::Swept | Transition::Requeued | Transition::Cancelled | Transition::Completed => {
                return None;
            }
        })
    }
}

impl Role {
    pub const ALL: [Self; 18] = [
        Self::Id,
        Self::Status,
        Self::Attempts,
        Self::MaxAttempts,
        Self::Due,
        Self::ClaimedAt,
        Self::LeaseUntil,
        Self::Attempted,
        Self::Owner,
        Self::Version,
        Self::Error,
        Self::Receipt,
        Self::Created,
        Self::Updated,
        Self::Finished,
        Self::Duration,
        Self::Priority,
        Self::Pool,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Status => "status",
            Self::Attempts => "attempts",
            Self::MaxAttempts => "max_attempts",
            Self::Due => "due",
            Self::ClaimedAt => "claimed_at",
            Self::LeaseUntil => "lease_until",
            Self::Attempted => "attempted",
            Self::Owner => "owner",
            Self::Version => "version",
            Self::Error => "error",
            Self::Receipt => "receipt",
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Finished => "finished",
            Self::Duration => "duration",
            Self::Priority => "priority",
            Self::Pool => "pool",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// Does the column hold a time?
    pub fn is_time(self) -> bool {
        matches!(
            self,
            Self::Due
                | Self::ClaimedAt
                | Self::LeaseUntil
                | Self::Attempted
                | Self::Created
                | Self::Updated
                | Self::Finished
        )
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
