//! Inspect: what operators read and change. Never on the hot path; every answer is bounded.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::{ClaimedState, ColumnRole, Contract, Stage, StateId, Transition};
use serde::{Deserialize, Serialize};

use crate::store::Error;

/// The limit of every count: a dashboard must not scan ten million rows.
pub const COUNT_LIMIT: u64 = 10_000;

/// The number of rows in a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StateCount {
    pub state: String,
    pub rows: u64,
    /// Whether there are more: the count stopped at [`COUNT_LIMIT`].
    pub more: bool,
}

/// A finding of [`Inspect::verify`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub level: Level,
    /// The guarantee that holds or does not, and why.
    pub text: String,
    /// The exact DDL that would fix it; `None` if no DDL can.
    pub fix: Option<String>,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A guarantee that holds.
    Ok,
    /// Works, with less than the full guarantee or speed.
    Warning,
    /// The lane cannot run.
    Error,
}

/// The filter, order and limits of a list of rows.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// A state of the contract; `None` for all.
    pub state: Option<String>,
    pub limit: u32,
    /// The end of the previous page: opaque, from [`Page::next`].
    pub after: Option<String>,
    pub order: Order,
    pub search: Option<Search>,
    /// Whether to return only the columns that identify a row, without its content.
    pub brief: bool,
}

/// The order of a list, by the row's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    #[default]
    Newest,
    Oldest,
}

/// The column that a search compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchBy {
    Id,
    /// The deduplication key, or the key of the record.
    Key,
    Recipient,
    /// The key by which rows are ordered.
    Group,
    /// Text anywhere in the error of a failed row.
    Error,
}

impl SearchBy {
    /// Every kind of search.
    pub const ALL: [Self; 5] = [Self::Id, Self::Key, Self::Recipient, Self::Group, Self::Error];

    /// Returns the name in the API and the console.
    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Key => "key",
            Self::Recipient => "recipient",
            Self::Group => "group",
            Self::Error => "error",
        }
    }

    /// Returns the kind with this name; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.name() == name)
    }

    /// Returns the column of the contract's table; `None` if it has none.
    pub fn column(self, contract: &Contract) -> Option<String> {
        let columns = contract.message_columns();
        let field = |names: &[&str]| {
            let of = |name: &&str| {
                columns.iter().find(|(field, _)| field == name).map(|(_, column)| column.clone())
            };
            names.iter().find_map(of)
        };
        match self {
            Self::Id => Some(contract.table.id.clone()),
            Self::Key => field(&["key", "dedupe"]).filter(|column| *column != contract.table.id),
            Self::Recipient => field(&["to", "url"]),
            Self::Group => contract.group.as_ref().map(|group| group.by.clone()),
            Self::Error => contract.column(ColumnRole::Error).map(str::to_owned),
        }
    }
}

/// The way in which a search compares its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Matching {
    #[default]
    Exact,
    Prefix,
}

/// A search for rows by the value of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    pub by: SearchBy,
    pub text: String,
    pub matching: Matching,
}

/// A kind of search that a table supports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Searchable {
    pub by: SearchBy,
    pub exact: bool,
    pub prefix: bool,
    /// Whether an index covers all rows; otherwise only the newest [`COUNT_LIMIT`] are searched, as the page's note
    /// says.
    pub indexed: bool,
}

/// An action of an operator on rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperatorAction {
    Requeue,
    Cancel,
    /// Hands claimed rows back, without counting an attempt, before their lease ends.
    Release,
}

impl OperatorAction {
    /// Every action.
    pub const ALL: [Self; 3] = [Self::Requeue, Self::Cancel, Self::Release];

    /// Returns the name in the API and the commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Requeue => "requeue",
            Self::Cancel => "cancel",
            Self::Release => "release",
        }
    }

    /// Returns the transition that the action makes.
    pub fn transition(self) -> Transition {
        match self {
            Self::Requeue => Transition::Requeued,
            Self::Cancel => Transition::Cancelled,
            Self::Release => Transition::Released,
        }
    }

    /// Returns the moves as pairs of old and new state; empty if the contract does not allow the action.
    pub fn moves(self, contract: &Contract, stage: &Stage) -> Vec<(StateId, StateId)> {
        let given = match self {
            Self::Requeue => &contract.requeue,
            Self::Cancel => &contract.cancel,
            Self::Release => {
                let ClaimedState::State(held) = stage.claimed else { return Vec::new() };
                return vec![(held, stage.retryable)];
            }
        };
        given.as_ref().map(|given| given.moves.clone()).unwrap_or_default()
    }
}

/// One row as an operator sees it: all columns, as text, in the table's order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RowView {
    pub id: String,
    pub state: Option<String>,
    pub columns: Vec<(String, Option<String>)>,
    /// The times of the row in microseconds since 1970, whatever type the table uses.
    #[serde(skip)]
    pub times: BTreeMap<ColumnRole, i64>,
    /// Microseconds until the row is due by the database's clock, negative if it is due; `None` if it is always due.
    #[serde(skip)]
    pub due_in: Option<i64>,
    /// The database's time when the row was read, in microseconds since 1970.
    #[serde(skip)]
    pub read_at: i64,
}

impl RowView {
    /// Returns the value of a column; `None` if it is NULL or does not exist.
    pub fn column(&self, name: &str) -> Option<&str> {
        self.columns.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.as_deref())
    }
}

/// A record about a row that a transition wrote to another table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    pub table: String,
    /// Microseconds since 1970.
    pub at: Option<i64>,
    pub columns: Vec<(String, Option<String>)>,
}

/// The position of a row relative to others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowPosition {
    /// The row of the same group that must be delivered before it.
    pub behind: Option<String>,
    pub pool: Option<PoolStanding>,
}

/// The limits and the current use of a row's pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolStanding {
    pub name: String,
    pub paused: bool,
    /// The maximum number of rows in flight; `None` for no limit.
    pub concurrency: Option<u64>,
    pub in_flight: u64,
    /// The maximum number of rows per minute; `None` for no limit.
    pub rate: Option<u64>,
}

/// The number of rows that an action would move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Preview {
    pub rows: u64,
    /// Whether there are more: the count stopped at [`COUNT_LIMIT`].
    pub more: bool,
}

impl Preview {
    /// Creates a preview from a count that was limited to one more than [`COUNT_LIMIT`].
    pub fn counted(rows: u64) -> Self {
        Self { rows: rows.min(COUNT_LIMIT), more: rows > COUNT_LIMIT }
    }
}

/// One page of a list of rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Page {
    pub rows: Vec<RowView>,
    /// The value of `after` for the next page; `None` at the end.
    pub next: Option<String>,
    /// A text that says what the page does not cover.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The rows that an action applies to.
#[derive(Debug, Clone)]
pub enum SelectedRows {
    Ids(Vec<String>),
    /// All rows in a state, at most `limit` per call; `since`: only those whose last change is more recent than this.
    State {
        state: String,
        since: Option<Duration>,
        limit: u32,
    },
}

/// The delay of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Lag {
    /// Seconds since the oldest due row fell due; `None` if none is due.
    pub oldest_due_seconds: Option<f64>,
    /// Seconds since the oldest claimed row was claimed; `None` if none is.
    pub oldest_claim_seconds: Option<f64>,
}

/// Reads and changes rows on behalf of operators.
#[async_trait]
pub trait Inspect: Send + Sync {
    /// Compares the table with the contract and EXPLAINs the claim. Changes nothing.
    async fn verify(&self) -> Result<Vec<Finding>, Error>;

    /// Describes rows that no lane claims: rows in a state unknown to the contract, or with a time that cannot be
    /// parsed. Bounded: only among the newest.
    async fn unknown_states(&self) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    /// Whether locks exclude other workers: without the tables of `migrate`, every worker acquires every lock.
    async fn has_locks(&self) -> Result<bool, Error>;

    /// Returns the number of rows per state, from indexes, bounded.
    async fn count_by_state(&self) -> Result<Vec<StateCount>, Error>;

    /// Returns the kinds of search that the table supports.
    fn searches(&self) -> Vec<Searchable>;

    /// Returns one page, with keyset pagination.
    async fn list(&self, query: &Query) -> Result<Page, Error>;

    /// Returns one row with all its columns; `None` if there is no such row.
    async fn show(&self, id: &str) -> Result<Option<RowView>, Error>;

    /// Returns what transitions wrote about the row to other tables (attempts, states reached), oldest first, bounded.
    async fn history(&self, id: &str) -> Result<Vec<HistoryEntry>, Error>;

    /// Returns the position of a row relative to others; empty if it waits for none.
    async fn position(&self, row: &RowView) -> Result<RowPosition, Error>;

    /// Returns how many rows an action would move now.
    async fn preview(&self, action: OperatorAction, which: &SelectedRows) -> Result<Preview, Error>;

    /// Moves rows back to be tried, with all their attempts. Returns the number of rows moved. Idempotent.
    async fn requeue(&self, which: &SelectedRows) -> Result<u64, Error>;

    /// Moves rows to the cancelled state; errs if the contract has none.
    async fn cancel(&self, which: &SelectedRows) -> Result<u64, Error>;

    /// Hands claimed rows back to be tried at once, without counting an attempt. A worker that still holds one loses
    /// it: its settle changes nothing, but it may have delivered the row.
    async fn release(&self, which: &SelectedRows) -> Result<u64, Error>;

    /// Returns how late the lane is, by the database's clock.
    async fn lag(&self) -> Result<Lag, Error>;
}
