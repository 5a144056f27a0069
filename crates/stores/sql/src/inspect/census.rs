//! Renders the counts of rows by state. Each reads a limited number of rows, and says whether there may be more.

use postrider_contract::StateId;
use postrider_seams::inspect::{COUNT_LIMIT, StateCount};

use crate::driver::execute::{SqlBuilder, Statement};
use crate::render::condition::Lookup;
use crate::render::rare::{Finding, MAX_ROWS_READ};
use crate::render::table::Table;
use crate::typed::typed_script;

typed_script! {
    /// Yields a number of rows, counted up to the seam's limit + 1, and whether rows were left unread.
    pub CountRows(()) -> RowCount, Read, |_, mut row| {
        Some(RowCount { rows: row.count(), unread: row.count() == 1 })
    }
}

/// The rows of a state that were counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCount {
    pub rows: u64,
    /// Whether the count ended before it had read the whole table.
    pub unread: bool,
}

impl RowCount {
    /// Returns the count as operators get it.
    pub fn of_state(self, state: &str) -> StateCount {
        StateCount {
            state: state.to_owned(),
            rows: self.rows.min(COUNT_LIMIT),
            more: self.rows > COUNT_LIMIT || self.unread,
        }
    }
}

impl Table<'_> {
    /// Returns the count of each state, by name.
    pub fn census(&self) -> Vec<(String, CountRows)> {
        let states = (0..self.contract.states.len()).map(StateId);
        let states = states.filter(|state| !self.contract.state(*state).deletes);
        let name = |state: StateId| self.contract.state(state).name.clone();
        states.map(|state| (name(state), CountRows { script: self.one(&self.count_of(state)) })).collect()
    }

    fn count_of(&self, state: StateId) -> String {
        match self.finding(state) {
            Finding::ByIndex => self.count_by_index(state),
            Finding::Ready => self.of_ready_state(state).map_or_else(
                || self.count_by_index(state),
                |table| table.count_among(state, &table.ready_rows(MAX_ROWS_READ), &table.ready_rows_left()),
            ),
            Finding::ByKey => {
                let (name, id) = (self.name(), self.id());
                // Rows end in about the order of their keys: most of the oldest rows are finished.
                let columns = self.state_columns(&[state]).join(", ");
                let oldest = format!("SELECT {columns} FROM {name} AS t ORDER BY {id} LIMIT {MAX_ROWS_READ}");
                let left = format!("SELECT 1 FROM {name} AS t ORDER BY {id} LIMIT 1 OFFSET {MAX_ROWS_READ}");
                self.count_among(state, &oldest, &left)
            }
        }
    }

    fn count_by_index(&self, state: StateId) -> String {
        // Rows without a key count as well: they are there, although no lane can handle them.
        let mut parts = self.finding_conditions(state);
        parts.push(self.in_state(state, Lookup::Index));
        parts.extend(self.contract_filter());
        format!(
            "SELECT {}, 0\nFROM (SELECT 1 AS one FROM {} AS t WHERE {} LIMIT {}) AS counted",
            self.as_integer("COUNT(*)"),
            self.name(),
            parts.join(" AND "),
            COUNT_LIMIT + 1
        )
    }

    /// Counts the rows of a state among these; `left` yields a row if there are others.
    fn count_among(&self, state: StateId, rows: &str, left: &str) -> String {
        let mut parts = vec![self.in_state(state, Lookup::Index)];
        if self.finding(state) == Finding::ByKey {
            parts.extend(self.contract_filter());
        }
        let unread = format!("CASE WHEN c.n <= {COUNT_LIMIT} AND EXISTS ({left}) THEN 1 ELSE 0 END");
        format!(
            "SELECT {}, {}\nFROM (SELECT COUNT(*) AS n FROM (SELECT 1 AS one FROM ({rows}) AS t\nWHERE {} LIMIT {}) AS \
             counted) AS c",
            self.as_integer("c.n"),
            self.as_integer(&unread),
            parts.join(" AND "),
            COUNT_LIMIT + 1
        )
    }

    /// A query that yields a row if [`Table::ready_rows`] would leave rows unread.
    fn ready_rows_left(&self) -> String {
        format!("SELECT 1 FROM ({}) AS a LIMIT 1 OFFSET {MAX_ROWS_READ}", self.ready_rows(MAX_ROWS_READ + 1))
    }

    /// Returns the query that counts the ready rows of this stage, up to the seam's limit + 1 or more.
    pub fn few_ready(&self) -> Statement {
        let rows = self.ready_rows(COUNT_LIMIT + 1);
        let count = self.as_integer("COUNT(*)");
        SqlBuilder::new(self.dialect, format!("SELECT {count} FROM ({rows}) AS c")).finish()
    }
}
