//! What goes with a move, and the moves that no worker makes.

use std::time::Duration;

use super::{Column, Literal, StateId};
use crate::Transition;

/// A timed move outside any lease.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// For lanes that override it.
    pub name: Option<String>,
    pub from: Vec<StateId>,
    pub to: StateId,
    pub when: When,
    pub every: Duration,
    pub reason: Option<String>,
    /// Hand the row to the lane's queue.
    pub publish: bool,
    /// Only where the lane has an external queue.
    pub only_queued: bool,
    /// A row that the sweep is about to take is not claimed, swept or not.
    pub bars_claims: bool,
    /// What this very sweep writes besides the state.
    pub writes: Vec<(Column, Expr)>,
}

impl Sweep {
    /// How messages call it: by its name, else by its place in the file, from 1.
    pub(crate) fn path(&self, index: usize) -> String {
        match &self.name {
            Some(name) => format!("sweep.{name}"),
            None => format!("sweep.{}", index + 1),
        }
    }
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
    /// Until the time in this column has passed. NULL means never.
    Before {
        column: String,
    },
}

impl When {
    /// The column whose time decides.
    pub fn column(&self) -> Option<&str> {
        match self {
            Self::Always => None,
            Self::OlderThan { since: column, .. } | Self::At { column } | Self::Before { column } => {
                Some(column)
            }
        }
    }
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

/// The table in which an effect keeps every move of a row. Where the attempts column is missing, tries are counted there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// `name` or `schema.name`.
    pub table: String,
    /// A whole number that grows with every line.
    pub order: String,
    /// The columns that hold the row's key, the state it moved to, and why.
    pub row: String,
    pub state: String,
    pub reason: String,
    /// The column with the time of each line.
    pub time: Option<String>,
    /// Stages whose composer is told when the row came to them.
    pub tells: Vec<String>,
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
    /// Those that may be absent read as NULL then.
    pub columns: Vec<Column>,
    /// Without its table every column reads as NULL.
    pub optional: bool,
}

/// How many other rows of the contract's own table have the same values as this one: a field of the composer, read with
/// the joins after the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// The composer's name for it: `history.sent`.
    pub field: String,
    /// Columns in which they are the same.
    pub same: Vec<String>,
    pub state: StateId,
    /// Only those whose time in this column is younger.
    pub within: Option<(Duration, String)>,
    /// Only those that were claimed before this row, and not put off since.
    pub ahead: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamoDb {
    pub layout: String,
    pub index: String,
    pub ttl: String,
}
