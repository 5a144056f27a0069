//! The checked form of a contract: names resolved, defaults filled in, every stage complete.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::{LaneDefaults, Move, Transition};

mod message_value;
mod metric;
mod moves;
mod role;
mod rules;

pub use message_value::*;
pub use metric::Metric;
pub use moves::*;
pub use role::ColumnRole;
pub use rules::*;

/// A checked contract: the meaning of one table.
#[derive(Debug, Clone, PartialEq)]
pub struct Contract {
    pub name: String,
    pub version: Version,
    pub table: Table,
    pub columns: Columns,
    /// Composer field → its source. A header of its own is `headers.NAME`.
    pub message: BTreeMap<String, MessageValue>,
    pub states: Vec<State>,
    /// States that the application inserts rows in, in addition to the ready ones.
    pub producer: Vec<StateId>,
    pub stages: Vec<Stage>,
    pub due: DueRule,
    pub claim: ClaimRule,
    pub group: Option<GroupRule>,
    pub pool: Option<PoolTable>,
    pub sweeps: Vec<Sweep>,
    pub cancel: Option<OperatorMove>,
    pub requeue: Option<OperatorMove>,
    pub complete: Option<OperatorMove>,
    pub retention: Vec<Retention>,
    pub effects: Vec<Effect>,
    pub history: Option<History>,
    pub writes: Vec<Write>,
    pub joins: Vec<Join>,
    pub counts: Vec<CountField>,
    /// Defaults for the lane that runs this contract.
    pub lane: LaneDefaults,
    /// Metric aliases: names that existing dashboards use, exported in addition to our own.
    pub metrics: BTreeMap<Metric, String>,
    /// Existing setting name (an environment variable) → the contract key that it sets.
    pub settings: BTreeMap<String, String>,
    pub dynamodb: Option<DynamoDb>,
    /// Whether the lane has an external queue. Set by [`Contract::with_queue`], not by a key of the contract.
    pub queued: bool,
}

/// The version of a contract. A build reads one major version of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

/// The table and its key, which is one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub schema: Option<String>,
    pub name: String,
    pub id: String,
    pub time: TimeForm,
    /// The format of columns that differ.
    pub times: BTreeMap<String, TimeForm>,
}

impl Table {
    /// Returns the format of the times in a column.
    pub fn time_of(&self, column: &str) -> TimeForm {
        self.times.get(column).copied().unwrap_or(self.time)
    }
}

/// The format in which times are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeForm {
    /// The database's own type; on SQLite any of its usual formats, written back in the format found.
    Native,
    EpochSeconds,
    EpochMillis,
    Iso8601,
}

/// A column name; an optional column (`"name?"`) is used if the table has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Column {
    pub name: String,
    pub optional: bool,
}

/// The columns by role. `ColumnRole::Id` is not among them: it is `table.id`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Columns(pub BTreeMap<ColumnRole, Column>);

impl Columns {
    /// Returns the column of `role`, if the table has one.
    pub fn get(&self, role: ColumnRole) -> Option<&str> {
        self.0.get(&role).map(|column| column.name.as_str())
    }
}

/// An index into [`Contract::states`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateId(pub usize);

/// A state: conditions on columns. No row can be in two states.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    pub name: String,
    /// Conditions that must all hold. The one on the status column comes first.
    pub conditions: Vec<(String, Condition)>,
    /// Whether a move to it deletes the row, so that no row is ever in it.
    pub deletes: bool,
}

/// A condition on one column. `Null` and `Never` with `false` are the negations.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    Is(Literal),
    Null(bool),
    /// The time 9999-12-31, for due columns where NULL means now.
    Never(bool),
}

/// A constant of a contract.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

/// One step of a row's life; one lane runs one stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    pub name: String,
    pub composer: String,
    pub ready: Vec<StateId>,
    pub claimed: ClaimedState,
    pub delivered: StateId,
    /// The state of rows that wait for another attempt: after a retry, and after a release, deferral or reclaim.
    pub retryable: StateId,
    /// The state after a release or deferral of a row without any attempt, so that it keeps its state.
    pub untried: Option<StateId>,
    pub dead: StateId,
    pub rejected: StateId,
    pub skipped: StateId,
    pub uncertain: Uncertain,
    /// Whether failed rows may be deleted.
    pub delete_failed: bool,
    /// The stage may have no transport; its ready state is then final.
    pub optional: bool,
    pub attempts: AttemptsRule,
    pub retry_rule: RetryRule,
    pub lease: LeaseRule,
}

/// The state of a claimed row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimedState {
    State(StateId),
    /// The state does not change; the claim moves the due time ahead (`lease.by = "due"`).
    Same,
}

/// The rule for a message that was sent but never acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uncertain {
    Retry,
    Dead,
    Delivered,
}

impl Contract {
    /// Returns the state with this id, which must be of this contract.
    pub fn state(&self, id: StateId) -> &State {
        &self.states[id.0]
    }

    /// Returns the id of the state of that name, if there is one.
    pub fn state_named(&self, name: &str) -> Option<StateId> {
        self.states.iter().position(|state| state.name == name).map(StateId)
    }

    /// Returns the stage of that name, if there is one.
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.name == name)
    }

    /// Whether this move deletes its rows.
    pub fn deletes(&self, step: &Move<'_>) -> bool {
        step.to.is_some_and(|to| self.state(to).deletes)
    }

    /// Whether claims share capacity: by pool limits or by a fair queue.
    pub fn limits_claims(&self) -> bool {
        self.claim.fair.is_some() || (self.pool.is_some() && self.column(ColumnRole::Pool).is_some())
    }

    /// Returns the history table in which attempts are counted, if the table has no column for them.
    pub fn counted_history(&self) -> Option<&History> {
        self.history.as_ref().filter(|_| self.column(ColumnRole::Attempts).is_none())
    }

    /// Returns the column of `role`; for `ColumnRole::Id` the table's key.
    pub fn column(&self, role: ColumnRole) -> Option<&str> {
        if role == ColumnRole::Id { Some(&self.table.id) } else { self.columns.get(role) }
    }

    /// Returns the column of one key of the claim order; `None` if no column has the role.
    pub fn order_column<'a>(&'a self, order: &'a ClaimOrder) -> Option<&'a str> {
        match &order.by {
            OrderBy::Role(role) => self.column(*role),
            OrderBy::Column(column) => Some(column),
        }
    }

    /// Returns the other tables that the contract uses: those of effects and joins, and the one with the pool limits.
    pub fn related_tables(&self) -> BTreeSet<&str> {
        let filled = self.effects.iter().map(|effect| effect.table.as_str());
        let joined = self.joins.iter().map(|join| join.table.as_str());
        filled.chain(joined).chain(self.pool.iter().map(|pool| pool.table.as_str())).collect()
    }
}

impl Stage {
    /// Returns the target state of `transition` in this stage; `None` if stages do not define it.
    pub fn target(&self, transition: Transition) -> Option<StateId> {
        Some(match transition {
            Transition::Claimed => match self.claimed {
                ClaimedState::State(state) => state,
                ClaimedState::Same => return None,
            },
            Transition::Delivered => self.delivered,
            Transition::Retry | Transition::Deferred | Transition::Released | Transition::Reclaimed => {
                self.retryable
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
