//! Finds rows that no lane can claim: in a state that the contract does not know, or with an unreadable time. The log,
//! `status` and `check` report them.

use std::collections::BTreeSet;

use postrider_contract::{ColumnRole, Condition, Literal, StateId};
use postrider_seams::inspect::COUNT_LIMIT;
use postrider_seams::store::Error;

use crate::Dialect;
use crate::driver::execute::{SqlBuilder, Statement};
use crate::driver::{Access, Driver};
use crate::open_table::OpenTable;
use crate::render::condition::Lookup;
use crate::typed::Columns;

/// Maximum number of unknown states that are reported.
const REPORTED: u32 = 10;

impl OpenTable {
    /// Returns a sentence for each kind of such rows, with their number.
    pub async fn unknown_states(&self, on: &impl Driver) -> Result<Vec<String>, Error> {
        let mut found = self.rows_in_unknown_states(on).await?;
        found.extend(self.unreadable_times(on).await?);
        Ok(found)
    }

    async fn rows_in_unknown_states(&self, on: &impl Driver) -> Result<Vec<String>, Error> {
        let rows = on.rows("find unknown states", Access::Read, self.unknown_rows(on.dialect())).await?;
        let (table, status) = (&self.contract.table.name, self.contract.column(ColumnRole::Status));
        let sentence = |row| {
            let mut row = Columns::new(row);
            let (state, count) = (row.text().unwrap_or_else(|| "NULL".to_owned()), row.count());
            let which = match status {
                Some(status) if self.is_status(&state) => {
                    format!("have `{state}` in {status} and are in no state that the contract knows")
                }
                Some(_) => format!("are in state `{state}`, which the contract does not know"),
                None => "are in no state that the contract knows".to_owned(),
            };
            format!("{count} of the newest {COUNT_LIMIT} rows of {table} {which}: no lane claims them")
        };
        Ok(rows.into_iter().map(sentence).collect())
    }

    /// Whether the status column holds this value in some state; then other columns keep the row out of that state.
    fn is_status(&self, text: &str) -> bool {
        let status = self.contract.column(ColumnRole::Status);
        let mut conditions = self.contract.states.iter().flat_map(|state| &state.conditions);
        conditions.any(|(column, condition)| match condition {
            Condition::Is(Literal::Text(known)) => Some(column.as_str()) == status && known == text,
            Condition::Is(Literal::Int(known)) => {
                Some(column.as_str()) == status && known.to_string() == text
            }
            _ => false,
        })
    }

    fn unknown_rows(&self, dialect: Dialect) -> Statement {
        let table = self.table(dialect);
        let states: Vec<StateId> = (0..self.contract.states.len()).map(StateId).collect();
        let known = table.in_states(&states, Lookup::Index);
        let text = self.contract.column(ColumnRole::Status).map_or("NULL".to_owned(), |status| {
            let column = table.col(status);
            match dialect {
                Dialect::Postgres => format!("({column})::text"),
                Dialect::Mysql => format!("CAST({column} AS CHAR)"),
                Dialect::Sqlite => format!("CAST({column} AS TEXT)"),
            }
        });
        // Rows that the contract's filter excludes are not reported.
        let filter = self.contract.claim.filter.iter().map(|(column, _)| column.as_str());
        let conditions = self.contract.states.iter().flat_map(|state| &state.conditions);
        let mut columns: BTreeSet<&str> =
            conditions.map(|(column, _)| column.as_str()).chain(filter).collect();
        columns.extend(self.contract.column(ColumnRole::Status));
        let columns: Vec<&str> = columns.into_iter().collect();
        let mut unknown = vec![format!(
            "NOT COALESCE({known}, {})",
            if dialect == Dialect::Postgres { "FALSE" } else { "0" }
        )];
        unknown.extend(table.contract_filter());
        let sql = format!(
            "SELECT {text}, COUNT(*) FROM ({}) AS t WHERE {} GROUP BY 1 ORDER BY 2 DESC LIMIT {REPORTED}",
            self.newest(&table, &columns),
            unknown.join(" AND ")
        );
        SqlBuilder::new(dialect, sql).finish()
    }
}
