//! Inspect: what operators see and do. Never on the hot path; every answer is bounded.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::{Claimed, Contract, Role, Stage, StateId, Transition};
use serde::{Deserialize, Serialize};

use crate::store::Error;

/// Counts stop here: a dashboard must not scan ten million rows.
pub const COUNT_LIMIT: u64 = 10_000;

/// How many rows are in a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Count {
    pub state: String,
    pub rows: u64,
    /// There are more: the count stopped at [`COUNT_LIMIT`].
    pub more: bool,
}

/// A finding of [`Inspect::verify`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub level: Level,
    /// What is (not) guaranteed, and why.
    pub text: String,
    /// The exact DDL that would mend it.
    pub mend: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A guarantee that holds.
    Ok,
    /// Works, with less than the full guarantee or speed.
    Warning,
    /// The lane can't run.
    Error,
}

/// Which rows to list.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// A state of the contract; all if none.
    pub state: Option<String>,
    pub limit: u32,
    /// Where the page before ended: opaque, from [`Page::next`].
    pub after: Option<String>,
    pub order: Order,
    pub search: Option<Search>,
    /// Only the columns that tell rows apart, not what they carry.
    pub brief: bool,
}

/// By the row's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    #[default]
    Newest,
    Oldest,
}

/// What a search looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchBy {
    Id,
    /// What tells duplicates, or the record's key.
    Key,
    Recipient,
    /// What rows keep their order by.
    Group,
    /// Text anywhere in the error of a failed row.
    Error,
}

impl SearchBy {
    pub const ALL: [Self; 5] = [Self::Id, Self::Key, Self::Recipient, Self::Group, Self::Error];

    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Key => "key",
            Self::Recipient => "recipient",
            Self::Group => "group",
            Self::Error => "error",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.name() == name)
    }

    /// The column of the contract's table; `None` where it has none.
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
            Self::Error => contract.column(Role::Error).map(str::to_owned),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Matching {
    #[default]
    Exact,
    Prefix,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    pub by: SearchBy,
    pub text: String,
    pub matching: Matching,
}

/// A search that a table can serve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Searchable {
    pub by: SearchBy,
    pub exact: bool,
    pub prefix: bool,
    /// By an index, over all rows; else over the newest [`COUNT_LIMIT`], which the page's note says.
    pub indexed: bool,
}

/// What an operator does with rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    Requeue,
    Cancel,
    /// Hands claimed rows back, unspent, before their lease ends.
    Release,
}

impl Verb {
    pub const ALL: [Self; 3] = [Self::Requeue, Self::Cancel, Self::Release];

    pub fn name(self) -> &'static str {
        match self {
            Self::Requeue => "requeue",
            Self::Cancel => "cancel",
            Self::Release => "release",
        }
    }

    pub fn transition(self) -> Transition {
        match self {
            Self::Requeue => Transition::Requeued,
            Self::Cancel => Transition::Cancelled,
            Self::Release => Transition::Released,
        }
    }

    /// From where to where; empty where the contract has no such move.
    pub fn moves(self, contract: &Contract, stage: &Stage) -> Vec<(StateId, StateId)> {
        let given = match self {
            Self::Requeue => &contract.requeue,
            Self::Cancel => &contract.cancel,
            Self::Release => {
                let Claimed::State(held) = stage.claimed else { return Vec::new() };
                return vec![(held, stage.retry)];
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
    /// Its times, in microseconds since 1970, in whatever form the table keeps them.
    #[serde(skip)]
    pub times: BTreeMap<Role, i64>,
    /// Microseconds until it is due by the database's clock, negative where it is; `None` where it is always due.
    #[serde(skip)]
    pub due_in: Option<i64>,
    /// The database's clock when it was read, in microseconds since 1970.
    #[serde(skip)]
    pub read_at: i64,
}

impl RowView {
    /// What a column holds.
    pub fn column(&self, name: &str) -> Option<&str> {
        self.columns.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.as_deref())
    }
}

/// What a move left about a row in a table beside its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub table: String,
    /// Microseconds since 1970.
    pub at: Option<i64>,
    pub columns: Vec<(String, Option<String>)>,
}

/// Where a row stands among others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// The row of its group that goes before it.
    pub behind: Option<String>,
    pub pool: Option<PoolStanding>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolStanding {
    pub name: String,
    pub paused: bool,
    /// The most rows in flight at once; `None` for any number.
    pub concurrency: Option<u64>,
    pub in_flight: u64,
    /// The most rows a minute; `None` for any number.
    pub rate: Option<u64>,
}

/// How many rows a verb would move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Preview {
    pub rows: u64,
    /// There are more: the count stopped at [`COUNT_LIMIT`].
    pub more: bool,
}

impl Preview {
    /// Of a count that went one further than the limit.
    pub fn counted(rows: u64) -> Self {
        Self { rows: rows.min(COUNT_LIMIT), more: rows > COUNT_LIMIT }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Page {
    pub rows: Vec<RowView>,
    /// Pass as `after` for the page that follows; `None` at the end.
    pub next: Option<String>,
    /// What the page does not cover, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Which rows an operator means.
#[derive(Debug, Clone)]
pub enum Which {
    Ids(Vec<String>),
    /// All rows in a state, at most `limit` a call; `since`: only those whose last change is younger than this.
    State {
        state: String,
        since: Option<Duration>,
        limit: u32,
    },
}

/// How far behind the lane is.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Lag {
    /// Seconds since the oldest due row fell due; `None` if none is due.
    pub oldest_due_seconds: Option<f64>,
    /// Seconds since the oldest claimed row was claimed; `None` if none is.
    pub oldest_claim_seconds: Option<f64>,
}

#[async_trait]
pub trait Inspect: Send + Sync {
    /// Compares table and contract, EXPLAINs the claim. Changes nothing.
    async fn verify(&self) -> Result<Vec<Finding>, Error>;

    /// Rows that no lane takes as they are, in words: of a state that the contract does not know, or with a time that can't
    /// be read. Bounded: among the newest.
    async fn strange(&self) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    /// Rows per state, from indexes, bounded.
    async fn census(&self) -> Result<Vec<Count>, Error>;

    /// What can be searched for here.
    fn searches(&self) -> Vec<Searchable>;

    /// One page, keyset-paged.
    async fn browse(&self, query: &Query) -> Result<Page, Error>;

    async fn show(&self, id: &str) -> Result<Option<RowView>, Error>;

    /// What moves left about the row beside it (attempts, states reached), oldest first, bounded.
    async fn history(&self, id: &str) -> Result<Vec<Recorded>, Error>;

    /// Where a row stands among others; nothing where it waits for none.
    async fn standing(&self, row: &RowView) -> Result<Standing, Error>;

    /// How many rows a verb would move now.
    async fn preview(&self, verb: Verb, which: &Which) -> Result<Preview, Error>;

    /// Back to be tried, with a fresh budget. Answers how many rows moved. Idempotent.
    async fn requeue(&self, which: &Which) -> Result<u64, Error>;

    /// By hand to the cancelled state; an error where the contract has none.
    async fn cancel(&self, which: &Which) -> Result<u64, Error>;

    /// Claimed rows back to be tried at once, unspent. A worker that still holds one loses it: its settle changes
    /// nothing, but its delivery may have been made.
    async fn release(&self, which: &Which) -> Result<u64, Error>;

    async fn lag(&self) -> Result<Lag, Error>;
}
