//! Limits the rows that a page reads if no index has the rows of its state in the order of their keys.
//!
//! Few ready rows are found by the indexes of claims and sorted. Otherwise the page reads the table by key, but only a
//! part of it: the next page continues where the part ended, even if the page is not full.

use postrider_contract::StateId;
use postrider_seams::inspect::{COUNT_LIMIT, Order, Query};

use super::search::SearchScope;
use super::statements::clause;
use crate::driver::execute::{SqlBuilder, Statement};
use crate::render::condition::Lookup;
use crate::render::rare::{Finding, MAX_ROWS_READ};
use crate::render::table::Table;

/// The rows that a page reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Within {
    /// Those that an index finds.
    Index,
    /// The few ready rows.
    FewReady,
    /// The rows up to this key.
    From(String),
}

impl Table<'_> {
    /// Returns the state of a page whose rows no index has in order.
    pub fn state_by_key(&self, query: &Query) -> Option<StateId> {
        let state = self.contract.state_named(query.state.as_deref()?)?;
        let search = query.search.as_ref().map(|search| self.search_scope(search.by, search.matching));
        (self.finding(state) != Finding::ByIndex && search != Some(SearchScope::All)).then_some(state)
    }

    /// Returns the query for the last key that a page may read; it yields no row if the table ends before.
    pub fn last_key(&self, query: &Query) -> Option<Statement> {
        let mut builder = SqlBuilder::new(self.dialect, "");
        let (sign, direction) = if query.order == Order::Newest { ("<", " DESC") } else { (">", "") };
        let mut conditions = Vec::new();
        // A search of the newest rows looks for them in the same part of the table on every page.
        if let Some(after) = query.after.as_ref().filter(|_| query.search.is_none()) {
            conditions.push(format!("{} {sign} {}", self.id(), self.typed_key(&mut builder, after)?));
        }
        let (id, name) = (self.id(), self.name());
        let sql = format!(
            "SELECT {}\nFROM {name} AS t{}\nORDER BY {id}{direction}\nLIMIT 1 OFFSET {}",
            self.as_text(&id),
            clause(&conditions),
            MAX_ROWS_READ - 1
        );
        Some(builder.finish_with(sql))
    }

    /// Returns the rows of a page among the few ready rows of a stage, as `t`; `None` if the query names no ready state.
    pub(super) fn few(&self, query: &Query, outer: &[String]) -> Option<String> {
        let state = self.contract.state_named(query.state.as_deref()?)?;
        let table = self.of_ready_state(state)?;
        let mut conditions = vec![self.in_state(state, Lookup::Index)];
        conditions.extend(outer.iter().cloned());
        let id = self.id();
        let direction = if query.order == Order::Newest { " DESC" } else { "" };
        Some(format!(
            "(SELECT {id} AS k FROM ({}) AS t{}\nORDER BY {id}{direction} LIMIT {}) AS f JOIN {} AS t ON {id} = f.k",
            table.ready_rows(COUNT_LIMIT + 1),
            clause(&conditions),
            query.limit,
            self.name()
        ))
    }
}
