//! The checked form of a contract: every name resolved, every default filled in, every stage complete in itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::{LaneSettings, Transition};

mod metric;
mod moves;
mod role;
mod rules;

pub use metric::Metric;
pub use moves::*;
pub use role::Role;
pub use rules::*;

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
    pub pool: Option<Pool>,
    pub sweeps: Vec<Sweep>,
    pub cancel: Option<OperatorMove>,
    pub requeue: Option<OperatorMove>,
    pub complete: Option<OperatorMove>,
    pub retention: Vec<Retention>,
    pub effects: Vec<Effect>,
    pub history: Option<History>,
    pub writes: Vec<Write>,
    pub joins: Vec<Join>,
    pub tallies: Vec<Tally>,
    /// What a lane does unless it is told otherwise.
    pub lane: LaneSettings,
    /// Names that dashboards already use for a lane's figures, beside our own.
    pub metrics: BTreeMap<Metric, String>,
    /// A name that operators already use (an environment variable) → the contract key that it sets.
    pub settings: BTreeMap<String, String>,
    pub dynamodb: Option<DynamoDb>,
    /// The lane that runs it has an external queue. No key says so: lanes do.
    pub queued: bool,
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
    /// Where release and defer go instead, for a row that no attempt was made on: it keeps its state.
    pub untried: Option<StateId>,
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

    /// Are its rows claimed by shares: by pool, and turn and turn about?
    pub fn has_shares(&self) -> bool {
        self.claim.fair.is_some() || (self.pool.is_some() && self.column(Role::Pool).is_some())
    }

    /// The history in which tries are counted, because the table has no column for them.
    pub fn counted_history(&self) -> Option<&History> {
        self.history.as_ref().filter(|_| self.column(Role::Attempts).is_none())
    }

    /// The column that plays `role`; the id's is the table's key.
    pub fn column(&self, role: Role) -> Option<&str> {
        if role == Role::Id { Some(&self.table.id) } else { self.columns.get(role) }
    }

    /// The tables beside its own: those that moves insert into, those that are joined, and where pools have their limits.
    pub fn related_tables(&self) -> BTreeSet<&str> {
        let filled = self.effects.iter().map(|effect| effect.table.as_str());
        let joined = self.joins.iter().map(|join| join.table.as_str());
        filled.chain(joined).chain(self.pool.iter().map(|pool| pool.table.as_str())).collect()
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

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
