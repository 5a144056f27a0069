//! Finds conflicts between a table's constraints and the contract; `check` reports them.
//!
//! They are: keys that are not unique or NULL, values that a type or a constraint rejects, NULL in NOT NULL columns,
//! groups without a definite order.

mod constraints;
mod keys;
mod nulls;
mod order;
mod values;

pub use constraints::{Constraints, Reference, check_expressions, enum_values, unique_keys};

use postrider_seams::inspect::{COUNT_LIMIT, Finding, Level};
use postrider_seams::store::Error;

use crate::Dialect;
use crate::driver::execute::SqlBuilder;
use crate::driver::{Access, Driver};
use crate::open_table::OpenTable;
use crate::render::table::Table;
use crate::typed::Columns;

/// The conflicts between a table's constraints and the contract.
#[derive(Debug, Clone, Default)]
pub struct Hazards {
    pub findings: Vec<Finding>,
    /// Whether the rows of a group have a definite order.
    pub ordered: bool,
    /// Whether the claim compares a column with a value that its type does not have, so that the database rejects it.
    pub unclaimable: bool,
}

impl OpenTable {
    /// Checks the table against the contract; errs only if a query fails.
    pub async fn hazards(&self, on: &impl Driver, constraints: &Constraints) -> Result<Hazards, Error> {
        let table = self.table(on.dialect());
        let (mut findings, unclaimable) = self.refused_values(on, &table, constraints).await?;
        findings.extend(self.key_finding(on, constraints).await?);
        findings.extend(self.missing_key_finding(on, &table).await?);
        if !unclaimable {
            findings.extend(self.attempts_finding(on, &table).await?);
        }
        findings.extend(self.null_findings(&table));
        findings.extend(self.effect_findings());
        let order = self.order_hazard(on, &table, constraints).await?;
        let ordered = order.is_none();
        findings.extend(order);
        Ok(Hazards { findings, ordered, unclaimable })
    }

    /// Selects columns of the newest rows: a table may hold millions, and `check` must be fast.
    pub(crate) fn newest(&self, table: &Table<'_>, columns: &[&str]) -> String {
        let columns: Vec<String> = columns.iter().map(|column| table.quote(column)).collect();
        format!(
            "SELECT {} FROM {} ORDER BY {} DESC LIMIT {COUNT_LIMIT}",
            columns.join(", "),
            table.name(),
            table.quote(&self.contract.table.id)
        )
    }
}

/// Runs a statement that returns one number.
async fn count(on: &impl Driver, doing: &str, sql: String) -> Result<u64, Error> {
    let rows = on.rows(doing, Access::Read, SqlBuilder::new(on.dialect(), sql).finish()).await?;
    Ok(rows.into_iter().next().map_or(0, |row| Columns::new(row).count()))
}

fn finding(level: Level, text: String, fix: Option<String>) -> Finding {
    Finding { level, text, fix }
}

/// The statement that makes a column nullable; `None` on SQLite, which would have to copy the table.
fn nullable(dialect: Dialect, table: &str, column: &str, sql_type: &str) -> Option<String> {
    let column = dialect.quoted(column);
    match dialect {
        Dialect::Postgres => Some(format!("ALTER TABLE {table} ALTER COLUMN {column} DROP NOT NULL")),
        Dialect::Mysql => Some(format!("ALTER TABLE {table} MODIFY {column} {sql_type} NULL")),
        Dialect::Sqlite => None,
    }
}
