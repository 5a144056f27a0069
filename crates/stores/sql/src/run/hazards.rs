//! What a table's own rules would do to a lane: keys that are not unique, states that a type or a constraint refuses,
//! NULL where none may be, groups without an order. `check` reports each.

mod keys;
mod nulls;
mod order;
mod states;

pub use states::{check_expressions, enum_values};

use postrider_seams::inspect::{COUNT_LIMIT, Finding, Level};
use postrider_seams::store::Error;

use super::{Opened, Run};
use crate::bind::{self, Given};
use crate::table::Table;
use crate::{Dialect, Script, Step, Yields, ident};

/// The rules of a table that its columns do not show.
#[derive(Debug, Clone, Default)]
pub struct Constraints {
    /// The columns of each unique key that covers all rows.
    pub unique: Vec<Vec<String>>,
    /// Columns of an enumerated type, and its values.
    pub enums: Vec<(String, Vec<String>)>,
    /// The expressions of CHECK constraints.
    pub checks: Vec<String>,
}

/// What was found out about a table's own rules.
#[derive(Debug, Clone, Default)]
pub struct Hazards {
    pub findings: Vec<Finding>,
    /// Do rows of a group have an order?
    pub ordered: bool,
    /// A value that the claim's statement names is not one of its column's type: the database refuses the statement.
    pub unclaimable: bool,
}

impl Opened {
    pub async fn hazards(&self, on: &impl Run, constraints: &Constraints) -> Result<Hazards, Error> {
        let dialect = on.dialect();
        let table = self.table(dialect);
        let refused = self.refused_values(&table, constraints);
        // An enumeration of PostgreSQL can't even be compared with a value that it does not have.
        let unclaimable = dialect == Dialect::Postgres && !refused.is_empty();
        let mut findings = refused;
        findings.extend(self.checked_values(on, &table, constraints).await?);
        findings.extend(self.key_finding(on, constraints).await?);
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

    /// Columns of the newest rows: a table may hold millions, and `check` is a page that people open.
    pub(super) fn newest(&self, table: &Table<'_>, columns: &[&str]) -> String {
        let columns: Vec<String> = columns.iter().map(|column| table.quote(column)).collect();
        format!(
            "SELECT {} FROM {} ORDER BY {} DESC LIMIT {COUNT_LIMIT}",
            columns.join(", "),
            table.name(),
            table.quote(&self.contract.table.id)
        )
    }
}

/// The number that a statement answers.
async fn count(on: &impl Run, doing: &str, sql: String) -> Result<u64, Error> {
    let script = Script { steps: vec![Step { sql, binds: Vec::new(), yields: Yields::Other }] };
    let rows = on.run(doing, &script, &Given::limit(on.owner(), 1)).await?.into_rows();
    Ok(rows.first().and_then(|row| row.first()).map_or(0, bind::count))
}

fn finding(level: Level, text: String, mend: Option<String>) -> Finding {
    Finding { level, text, mend }
}

/// Lets a column hold NULL; SQLite would have to copy the table.
fn nullable(dialect: Dialect, table: &str, column: &str, sql_type: &str) -> Option<String> {
    let column = ident::quote(dialect, column);
    match dialect {
        Dialect::Postgres => Some(format!("ALTER TABLE {table} ALTER COLUMN {column} DROP NOT NULL")),
        Dialect::Mysql => Some(format!("ALTER TABLE {table} MODIFY {column} {sql_type} NULL")),
        Dialect::Sqlite => None,
    }
}
