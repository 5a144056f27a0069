//! Finds rows with invalid timestamps on SQLite: reports them, and moves those that no claim could select to a final
//! state, with a reason.

pub(crate) mod statements;

use std::collections::BTreeSet;

use postrider_contract::ColumnRole;
use postrider_seams::inspect::COUNT_LIMIT;
use postrider_seams::store::Error;

use crate::Dialect;
use crate::bind::{Ids, Limit};
use crate::driver::{Access, Driver};
use crate::open_table::OpenTable;
use crate::sweep::unreadable::statements::{ComparedTime, Consequence};
use crate::typed::Columns;

/// Number of characters of a value that a report shows.
const SHOWN: usize = 40;

impl OpenTable {
    /// Returns a sentence for each time column that holds unreadable values.
    pub(crate) async fn unreadable_times(&self, on: &impl Driver) -> Result<Vec<String>, Error> {
        if on.dialect() != Dialect::Sqlite {
            return Ok(Vec::new());
        }
        let table = self.table(on.dialect());
        let mut found = Vec::new();
        for time in table.compared_times() {
            let columns = self.reported_columns(time.column);
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            let rows = self.newest(&table, &columns);
            let Some(statement) = table.count_unreadable(&time, &rows) else { continue };
            let counted = on.rows("count unreadable times", Access::Read, statement).await?;
            let mut row = Columns::new(counted.into_iter().next().unwrap_or_default());
            let count = row.count();
            if count > 0 {
                let (id, value) = (row.text().unwrap_or_default(), row.text().unwrap_or_default());
                found.push(self.unreadable_text(&time, count, &id, &value));
            }
        }
        Ok(found)
    }

    /// The columns that the report's condition reads: the key, the time, counters, and those that decide the state.
    fn reported_columns(&self, time: &str) -> BTreeSet<String> {
        let filter = self.contract.claim.filter.iter().map(|(column, _)| column.clone());
        let conditions = self.contract.states.iter().flat_map(|state| &state.conditions);
        let mut columns: BTreeSet<String> =
            conditions.map(|(column, _)| column.clone()).chain(filter).collect();
        columns.extend([self.contract.table.id.clone(), time.to_owned()]);
        columns.extend(self.contract.column(ColumnRole::Attempts).map(str::to_owned));
        columns
    }

    fn unreadable_text(&self, time: &ComparedTime<'_>, count: u64, id: &str, value: &str) -> String {
        let value: String = value.chars().take(SHOWN).collect();
        let (table, column) = (&self.contract.table.name, time.column);
        let ended = self.statements.unreadable.iter().any(|scripts| scripts.column == column);
        let consequence = match time.consequence {
            Consequence::Waits if ended => "a running lane ends them with that reason",
            Consequence::Waits => "no lane claims them",
            Consequence::GoesFirst => "they are treated as having no time and are claimed first",
            Consequence::IsStamped => "their lease starts when a lane first reads them",
        };
        format!(
            "{count} of the newest {COUNT_LIMIT} rows of {table} hold a time in {column} that can't be read, such as row {id}: \
             {value:?}; {consequence}. Write a time such as 2026-11-18T02:30:00Z"
        )
    }

    /// Ends up to `limit` rows for each such time column, and returns their number.
    pub(crate) async fn end_unreadable(&self, on: &impl Driver, limit: u32) -> Result<u64, Error> {
        let mut ended = 0;
        for scripts in &self.statements.unreadable {
            let mut ids = on.fetch("find unreadable times", &scripts.find, Limit(limit)).await?;
            ids.sort_unstable();
            let example = ids.first().map(ToString::to_string).unwrap_or_default();
            let mut rows = 0;
            for part in ids.chunks(self.batch) {
                rows +=
                    on.fetch("end rows with unreadable times", &scripts.end, Ids(part)).await?.len() as u64;
            }
            if rows > 0 {
                let (table, column) = (&self.contract.table.name, &scripts.column);
                tracing::warn!(table, column, rows, example, "ended rows whose time can't be read");
            }
            ended += rows;
        }
        Ok(ended)
    }
}
