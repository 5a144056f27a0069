//! A contract opened on a table: its statements, and what its lanes remember between calls.

use std::collections::BTreeSet;
use std::sync::Arc;

use postrider_contract::{ColumnRole, Contract, MessageValue, RESULTS, Stage, Transition};
use postrider_seams::row::Value;

use crate::begin::Crashed;
use crate::claim::join;
use crate::claim::lost::KeptError;
use crate::groups::cursor::GroupCursor;
use crate::pools::cache::PoolCache;
use crate::render::text_column;
use crate::settle::unanswered::UnansweredExtensions;
use crate::verify::missing;
use crate::{Dialect, Shape, Statements, render};

/// A contract opened on a table, for one stage.
#[derive(Debug, Clone)]
pub struct OpenTable {
    /// The contract with only those optional columns that this table has.
    pub contract: Contract,
    pub stage: Stage,
    pub shape: Shape,
    pub statements: Statements,
    /// Number of keys per statement.
    pub batch: usize,
    /// Names of the row's own fields and the joined ones.
    pub(crate) names: Arc<[String]>,
    /// The position of the claims of ordered groups.
    pub(crate) group_cursor: Arc<GroupCursor>,
    /// The known shares and pools.
    pub(crate) pool_cache: Arc<PoolCache>,
    /// The name of this store's list of begun rows: two lanes on one table must not share a list.
    pub(crate) marks: Arc<str>,
    /// Rows held here that have crashes counted against them.
    pub(crate) crashed: Arc<Crashed>,
    /// The error of a claim that still returned rows.
    pub(crate) kept_error: Arc<KeptError>,
    /// The leases whose last extension has no answer.
    pub(crate) unanswered: Arc<UnansweredExtensions>,
}

/// How many batches a distant database settles in one statement.
const DISTANT_BATCHES: usize = 4;

impl OpenTable {
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
        let statements = render(&contract, &stage, dialect, &shape).map_err(|problem| problem.to_string())?;
        let names = statements.layout.fields.iter().chain(&*statements.layout.joined).cloned().collect();
        Ok(Self {
            contract,
            stage,
            shape,
            statements,
            batch,
            names,
            group_cursor: Arc::default(),
            pool_cache: Arc::default(),
            marks: crate::bind::instance_id().into(),
            crashed: Arc::default(),
            kept_error: Arc::default(),
            unanswered: Arc::default(),
        })
    }

    /// The largest number of rows that one statement settles. The engine settles more than [`OpenTable::batch`] rows
    /// at once only while the database is distant.
    pub fn settle_batch(&self) -> usize {
        DISTANT_BATCHES * self.batch
    }

    /// Whether recipient results are kept on this transition, in the contract's table or in the internal one.
    pub fn recipient_results_on(&self, transition: Transition) -> bool {
        self.contract.keeps_recipient_results_on(transition) || self.remembers_recipients()
    }

    /// Returns the longest reason that the error column holds, in characters; `None` if any length fits.
    pub fn reason_limit(&self, dialect: Dialect) -> Option<usize> {
        text_column::length(dialect, self.shape.column(self.contract.column(ColumnRole::Error)?)?)
    }

    /// Returns the longest recipient results that the contract's column holds, in bytes; `None` if any length fits.
    pub fn recipients_limit(&self, dialect: Dialect) -> Option<usize> {
        let MessageValue::Column(column) = self.contract.message.get(RESULTS)? else { return None };
        text_column::length(dialect, self.shape.column(&column.name)?)
    }

    pub(crate) fn remembers_recipients(&self) -> bool {
        self.shape.recipients && self.contract.needs_recipient_store(&self.stage)
    }
}

/// A value as text for operators.
pub(crate) fn taken_text(value: Value) -> Option<String> {
    match value {
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        other => crate::bind::text(other),
    }
}
