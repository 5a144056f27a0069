//! Effects, writes and joins of a transition, and the transitions that no worker makes: sweeps, operator moves, purge.

use std::time::Duration;

use super::{Column, Literal, StateId};
use crate::Transition;

/// A timed move of rows that no worker holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The name by which a lane overrides it.
    pub name: Option<String>,
    pub from: Vec<StateId>,
    pub to: StateId,
    pub when: When,
    pub every: Duration,
    pub reason: Option<String>,
    /// Whether to publish the row to the lane's external queue.
    pub publish: bool,
    /// Whether it runs only if the lane has an external queue.
    pub only_with_queue: bool,
    /// Whether a row to which this sweep applies cannot be claimed, even before the sweep runs.
    pub blocks_claims: bool,
    /// Columns that this sweep writes in addition to the state.
    pub writes: Vec<(Column, Expr)>,
}

impl Sweep {
    /// Returns the name for messages: its own, else its position in the file, from 1.
    pub(crate) fn path(&self, index: usize) -> String {
        match &self.name {
            Some(name) => format!("sweep.{name}"),
            None => format!("sweep.{}", index + 1),
        }
    }
}

/// The condition under which a sweep applies to a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum When {
    Always,
    OlderThan {
        age: Duration,
        since: String,
    },
    /// Once the time in this column has passed. NULL means never; for a `publish` sweep it means at once.
    At {
        column: String,
    },
    /// Until the time in this column has passed. NULL means never.
    Before {
        column: String,
    },
}

impl When {
    /// Returns the column whose time decides, if any.
    pub fn column(&self) -> Option<&str> {
        match self {
            Self::Always => None,
            Self::OlderThan { since: column, .. } | Self::At { column } | Self::Before { column } => {
                Some(column)
            }
        }
    }
}

/// An operator's move. Without `to` a requeue leads to the first ready state of the stage that ended there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorMove {
    pub moves: Vec<(StateId, StateId)>,
}

/// The rule by which the purge deletes rows of one state after a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    pub state: StateId,
    pub after: Duration,
    /// Time columns; the first that is not NULL counts.
    pub since: Vec<String>,
}

/// A row that is inserted in the same transaction as a move, only if the fence matched.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    pub on: Vec<Transition>,
    pub table: String,
    pub values: Vec<(String, Expr)>,
}

/// The table in which an effect records every move of a row. Without an attempts column, attempts are counted there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// `name` or `schema.name`.
    pub table: String,
    /// The column with a whole number that grows with every entry.
    pub order: String,
    /// The column with the row's key.
    pub row: String,
    /// The column with the state that the row moved to.
    pub state: String,
    /// The column with the reason of the move.
    pub reason: String,
    /// The column with the time of each entry.
    pub time: Option<String>,
    /// Stages whose composer gets the time at which the row entered the stage.
    pub reached_for: Vec<String>,
}

/// A column that a transition writes in addition to state, counters and due time.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    pub on: Vec<Transition>,
    pub column: Column,
    pub value: Expr,
}

/// A value that a write or an effect computes.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Null,
    Literal(Literal),
    Now,
    Id,
    /// The state that the row moved to, as in the status column.
    State,
    From,
    Reason {
        absent: Absent,
    },
    Attempts,
    ClaimedAt,
    Worker,
    Tsid,
    Row {
        column: String,
        absent: Absent,
    },
    Envelope {
        field: String,
        absent: Absent,
    },
    Outcome {
        field: String,
        absent: Absent,
    },
    Json(Vec<(String, Expr)>),
}

/// The meaning of a value that is absent when a move is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// The value must be there: `verify` refuses it in moves that do not have it.
    Required,
    /// `or null`: writes NULL.
    Null,
    /// `or keep`: the column keeps its value. Only in writes, because an inserted row has none.
    Keep,
}

/// An equality join that supplies composer fields; it is read after the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join {
    pub alias: String,
    pub table: String,
    /// This table's column = (alias or `row`, column).
    pub on: Vec<(String, (String, String))>,
    /// Columns to read; optional ones that the table lacks are read as NULL.
    pub columns: Vec<JoinedColumn>,
    /// Whether several rows are read for each row, and how.
    pub many: Option<ManyRows>,
    /// Whether the table may be absent; every column is then read as NULL.
    pub optional: bool,
}

/// A column of a join, and the name under which a composer reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedColumn {
    pub name: String,
    pub column: Column,
}

/// A join that reads several rows, as one list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManyRows {
    /// The number of rows above which the row is rejected.
    pub at_most: u32,
    /// The columns of the other table by which the rows are ordered.
    pub order: Vec<String>,
}

/// A composer field that counts other rows of the same table with the same values; read with the joins after the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountField {
    /// The name of the composer field: `history.sent`.
    pub field: String,
    /// Columns whose values must be equal.
    pub same: Vec<String>,
    pub state: StateId,
    /// Counts only rows whose time in this column is younger than this.
    pub within: Option<(Duration, String)>,
    /// Counts only rows that were claimed before this one and not deferred since.
    pub ahead: bool,
}

/// The table layout for the DynamoDB store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamoDb {
    pub layout: String,
    pub index: String,
    pub ttl: String,
}
