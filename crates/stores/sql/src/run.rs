//! The verbs of a store, written once for all SQL databases: which scripts run with which values, and what results
//! mean.
//!
//! Owns: claim, settle, sweep and inspect over a [`Program`]. Must not: know a driver. A store implements [`Run`], and
//! everything that only its database has (connections, error classes, waking, locks). Invariant: only scripts of the
//! program touch the contract's table.

mod begin;
mod claim;
mod duplicates;
mod find;
mod groups;
mod handoff;
pub mod hazards;
mod inspect;
mod known;
pub mod locks;
pub mod migrate;
mod missing;
mod patience;
mod permits;
pub mod pool;
mod produce;
mod progress;
mod ring;
mod settle;
mod shares;
pub mod store;
mod strange;
pub mod suppressions;
mod sweep;
mod unheld;
mod unreadable;
pub mod verify;
mod writable;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use postrider_contract::{Contract, Stage};
use postrider_seams::row::{RowId, Value};
use postrider_seams::store::Error;

pub use patience::Patience;
pub use progress::Progress;

use self::begin::Crashed;
use self::known::Known;
use self::ring::Ring;
use self::unheld::Missed;
use crate::bind::Given;
use crate::{Dialect, Program, Script, Shape, join, render};

/// Runs scripts on one database.
pub trait Run: Send + Sync {
    fn dialect(&self) -> Dialect;

    /// This worker's id.
    fn owner(&self) -> &str;

    /// Returns the same database for calls that may take long: maintenance and operators' calls.
    #[must_use]
    fn unhurried(&self) -> Self
    where
        Self: Sized;

    /// Runs scripts one after another in one transaction, and retries it after a deadlock or serialization failure.
    ///
    /// `doing` completes "could not …" in error messages.
    fn run_all(
        &self,
        doing: &str,
        scripts: &[(&Script, Given<'_>)],
    ) -> impl Future<Output = Result<Vec<Done>, Error>> + Send;

    /// Runs one script in a transaction.
    fn run(
        &self,
        doing: &str,
        script: &Script,
        given: &Given<'_>,
    ) -> impl Future<Output = Result<Done, Error>> + Send {
        async move { Ok(self.run_all(doing, &[(script, given.clone())]).await?.pop().unwrap_or_default()) }
    }

    /// Runs one statement on the internal tables; returns `None` if the table does not exist.
    fn ask(
        &self,
        doing: &str,
        sql: &'static str,
        args: Vec<Value>,
    ) -> impl Future<Output = Result<Option<Vec<Vec<Value>>>, Error>> + Send;

    /// Runs a statement that only reads, without waiting for writers.
    fn look(
        &self,
        doing: &str,
        sql: &'static str,
        args: Vec<Value>,
    ) -> impl Future<Output = Result<Option<Vec<Vec<Value>>>, Error>> + Send {
        self.ask(doing, sql, args)
    }
}

/// The result of a script.
#[derive(Debug, Default)]
pub struct Done {
    /// The rows of the last step that yields any; `None` if no step does.
    pub rows: Option<Vec<Vec<Value>>>,
    /// Keys of a step before the last yielding one, in the contract's order.
    pub order: Vec<RowId>,
    /// Number of rows that the last step changed.
    pub affected: u64,
    /// The groups that the search found.
    pub groups: Vec<Vec<Value>>,
    /// Duration of that search.
    pub finding: Duration,
}

impl Done {
    /// Returns the number of rows that moved.
    pub fn moved(&self) -> u64 {
        self.rows.as_ref().map_or(self.affected, |rows| rows.len() as u64)
    }

    /// Returns the keys of the rows that moved.
    pub fn keys(self) -> Vec<RowId> {
        let first = |row: Vec<Value>| row.into_iter().next().and_then(crate::bind::key);
        self.into_rows().into_iter().filter_map(first).collect()
    }

    /// Returns the rows; empty if no step yields any.
    pub fn into_rows(self) -> Vec<Vec<Value>> {
        self.rows.unwrap_or_default()
    }

    /// The first column of the first row; NULL if there is none.
    fn first(self) -> Value {
        self.into_rows().into_iter().next().and_then(|row| row.into_iter().next()).unwrap_or_default()
    }
}

/// A contract opened on a table, for one stage.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The contract with only those optional columns that this table has.
    pub contract: Contract,
    pub stage: Stage,
    pub shape: Shape,
    pub program: Program,
    /// Number of keys per statement.
    pub batch: usize,
    /// Names of the row's own fields and the joined ones.
    names: Arc<[String]>,
    /// The position of the claims of ordered groups.
    ring: Arc<Ring>,
    /// The known shares and pools.
    known: Arc<Known>,
    /// The name of this store's list of begun rows: two lanes on one table must not share a list.
    marks: Arc<str>,
    /// Rows held here that have crashes counted against them.
    crashed: Arc<Crashed>,
    /// The error of a claim that still returned rows.
    missed: Arc<Missed>,
}

impl Opened {
    /// Resolves the optional columns against the table's shape and renders the program; errs if the table does not fit.
    pub fn new(
        contract: &Contract,
        stage: &str,
        dialect: Dialect,
        shape: Shape,
        batch: usize,
    ) -> Result<Self, String> {
        let present: BTreeSet<String> = shape.columns.iter().map(|column| column.name.clone()).collect();
        let unjoined = join::missing(contract, &shape);
        let resolved = contract.resolve(&present);
        let contract = match (resolved, unjoined.is_empty()) {
            (Ok(contract), true) => contract,
            (resolved, _) => {
                return Err(missing::listed(contract, &shape, resolved.err().unwrap_or_default(), unjoined));
            }
        };
        let stage = contract
            .stage(stage)
            .cloned()
            .ok_or_else(|| format!("contract {} has no stage {stage:?}", contract.name))?;
        let program = render(&contract, &stage, dialect, &shape).map_err(|problem| problem.to_string())?;
        let names = program.layout.fields.iter().chain(&*program.layout.joined).cloned().collect();
        Ok(Self {
            contract,
            stage,
            shape,
            program,
            batch,
            names,
            ring: Arc::default(),
            known: Arc::default(),
            marks: crate::bind::instance_id().into(),
            crashed: Arc::default(),
            missed: Arc::default(),
        })
    }

    /// Whether recipient results are kept, in the contract's table or in the internal one.
    pub fn recipient_results(&self) -> bool {
        self.contract.keeps_recipient_results() || self.remembers_recipients()
    }

    fn remembers_recipients(&self) -> bool {
        self.shape.recipients && self.contract.needs_recipient_memory(&self.stage)
    }
}

/// A value as text for operators.
fn taken_text(value: Value) -> Option<String> {
    match value {
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        other => crate::bind::text(other),
    }
}
