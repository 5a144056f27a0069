//! Inspect: what operators see and do. Never on the hot path; every answer is bounded.

use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;

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
}

/// One row as an operator sees it: all columns, as text, in the table's order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RowView {
    pub id: String,
    pub state: Option<String>,
    pub columns: Vec<(String, Option<String>)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Page {
    pub rows: Vec<RowView>,
    /// Pass as `after` for the page that follows; `None` at the end.
    pub next: Option<String>,
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

    /// Rows per state, from indexes, bounded.
    async fn census(&self) -> Result<Vec<Count>, Error>;

    /// One page, newest key first, keyset-paged.
    async fn browse(&self, query: &Query) -> Result<Page, Error>;

    async fn show(&self, id: &str) -> Result<Option<RowView>, Error>;

    /// Back to be tried, with a fresh budget. Answers how many rows moved. Idempotent.
    async fn requeue(&self, which: &Which) -> Result<u64, Error>;

    /// By hand to the cancelled state; an error where the contract has none.
    async fn cancel(&self, which: &Which) -> Result<u64, Error>;

    async fn lag(&self) -> Result<Lag, Error>;
}
