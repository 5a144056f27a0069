//! Renders the queries of operators: pages of rows, one row, its records, its place in group and pool, and previews.
//!
//! A statement is rendered on each call, because a search has too many forms to keep them all.
//!
//! Owns: the text of these statements. Must not: read a table without a limit. Invariant: what an operator typed is
//! bound.

use postrider_contract::{ColumnRole, Expr, StateId};
use postrider_seams::inspect::{COUNT_LIMIT, Order, Query, SearchBy, SelectedRows};

use super::bounds::Within;
use super::search::SearchScope;
use crate::Dialect;
use crate::driver::execute::{Arg, SqlBuilder, Statement};
use crate::render::column::{self, Kind};
use crate::render::condition::Lookup;
use crate::render::table::Table;
use crate::render::time::Shift;

/// Maximum number of records shown of one row: the newest.
const RECORDS: u32 = 200;

impl Table<'_> {
    /// Returns the time roles that a view contains in addition to its columns, in order.
    pub fn view_times(&self) -> Vec<ColumnRole> {
        self.contract.columns.0.keys().copied().filter(|role| role.is_time()).collect()
    }

    /// Returns the columns that a view lists.
    pub fn view_columns(&self, brief: bool) -> Vec<&str> {
        let is_brief = |name: &str| {
            let plays = self.contract.columns.0.values().any(|column| column.name == name);
            let found = SearchBy::ALL.iter().any(|by| by.column(self.contract).as_deref() == Some(name));
            let named = self.contract.message_columns().into_iter().any(|(field, column)| {
                column == name && matches!(field.as_str(), "topic" | "subject" | "code" | "client")
            });
            plays || found || named
        };
        let names = self.shape.columns.iter().map(|column| column.name.as_str());
        names.filter(|name| !brief || is_brief(name)).collect()
    }

    /// `state, id, clock, due in, times…, columns…`.
    fn view(&self, brief: bool) -> String {
        let states = (0..self.contract.states.len()).map(StateId);
        let cases: Vec<String> = states
            .map(|state| {
                let name = self.text(&self.contract.state(state).name);
                format!("WHEN {} THEN {name}", self.in_state(state, Lookup::Index))
            })
            .collect();
        let due = match self.contract.column(ColumnRole::Due) {
            Some(due) => Some(format!("0 - ({})", self.micros_since(due))),
            None => self.computed_wait(),
        };
        let due = due.map_or_else(|| "NULL".to_owned(), |due| self.as_integer(&due));
        let due = if self.dialect == Dialect::Postgres { format!("({due})::bigint") } else { due };
        let mut columns =
            vec![format!("CASE {} END", cases.join(" ")), self.key_text(&self.id()), self.clock(), due];
        let times = self.view_times().into_iter().filter_map(|role| self.contract.column(role));
        columns.extend(times.map(|column| self.as_integer(&self.micros_since(column))));
        let shown = self.view_columns(brief).into_iter().filter_map(|name| self.shape.column(name));
        columns.extend(shown.map(|column| self.shown(&column.name, &column.sql_type)));
        columns.join(",\n  ")
    }

    /// The database's clock, in microseconds since 1970.
    fn clock(&self) -> String {
        match self.dialect {
            Dialect::Postgres => "(extract(epoch FROM now()) * 1000000)::bigint".to_owned(),
            Dialect::Mysql => "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))".to_owned(),
            Dialect::Sqlite => {
                "CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000".to_owned()
            }
        }
    }

    fn shown(&self, name: &str, sql_type: &str) -> String {
        let col = self.col(name);
        match (Kind::of(sql_type), self.dialect) {
            (Kind::Binary, Dialect::Postgres) => format!("encode({col}, 'escape')"),
            _ => self.as_text(&col),
        }
    }

    /// A key that a user typed, in the column's type; `None` if no row can have it.
    pub(super) fn typed_key(&self, builder: &mut SqlBuilder, text: &str) -> Option<String> {
        let sql_type = &self.shape_of(&self.contract.table.id).sql_type;
        if self.integer_id() {
            return Some(builder.bind(Arg::Int(Some(text.trim().parse().ok()?))));
        }
        if self.has_binary_id() && !is_hex(text.strip_prefix("\\x").unwrap_or(text)) {
            return None;
        }
        if self.dialect != Dialect::Postgres {
            return Some(self.key_value(&builder.bind_text(text)));
        }
        let own = column::postgres_type(sql_type);
        if own == "uuid" && !is_uuid(text) {
            return None;
        }
        let bound = builder.bind_text(text);
        Some(format!("({bound})::{own}"))
    }

    /// Returns the query for a page of rows; `None` if no row can match. `within` limits the rows that it reads.
    pub fn page(&self, query: &Query, within: &Within) -> Option<Statement> {
        let mut builder = SqlBuilder::new(self.dialect, "");
        let scope = query.search.as_ref().map(|search| self.search_scope(search.by, search.matching));
        let mut inner = self.filter();
        let state = query.state.as_deref().and_then(|name| self.contract.state_named(name));
        let id = self.page_key(state);
        if let Some(state) = state {
            inner.extend(self.finding_conditions(state));
            inner.push(self.in_state(state, Lookup::Index));
        } else if query.search.as_ref().is_some_and(|search| search.by == SearchBy::Error) {
            inner.extend(self.rare_conditions(&self.failed_states()));
            inner.push(self.in_states(&self.failed_states(), Lookup::Index));
        }
        if let Within::From(last) = within {
            let sign = if query.order == Order::Newest { ">=" } else { "<=" };
            inner.push(format!("{} {sign} {}", self.id(), self.typed_key(&mut builder, last)?));
        }
        let mut outer = Vec::new();
        if let (Some(search), Some(scope)) = (&query.search, scope) {
            outer.push(self.matches(&mut builder, search, scope)?);
        }
        if let Some(after) = &query.after {
            let sign = if query.order == Order::Newest { '<' } else { '>' };
            let key = self.typed_key(&mut builder, after)?;
            outer.push(format!("{id} {sign} {key}"));
        }
        let from = if scope == Some(SearchScope::Newest) {
            format!("{}{}", self.newest(&id, &inner), clause(&outer))
        } else if let (Within::FewReady, Some(few)) = (within, self.few(query, &outer)) {
            few
        } else {
            inner.append(&mut outer);
            format!("{} AS t{}", self.name(), clause(&inner))
        };
        let direction = if query.order == Order::Newest { " DESC" } else { "" };
        let sql = format!(
            "SELECT {}\nFROM {from}\nORDER BY {id}{direction}\nLIMIT {}",
            self.view(query.brief),
            query.limit
        );
        Some(builder.finish_with(sql))
    }

    /// The newest rows by this key that satisfy the conditions, as `t`.
    fn newest(&self, key: &str, conditions: &[String]) -> String {
        let (name, id) = (self.name(), self.id());
        let newest = format!("{}\nORDER BY {key} DESC\nLIMIT {COUNT_LIMIT}", clause(conditions));
        match self.dialect {
            // MySQL would copy whole rows.
            Dialect::Mysql => {
                format!("(SELECT {id} AS k FROM {name} AS t{newest}) AS n JOIN {name} AS t ON {id} = n.k")
            }
            Dialect::Postgres | Dialect::Sqlite => format!("(SELECT * FROM {name} AS t{newest}) AS t"),
        }
    }

    /// Returns the states of rows that could not be delivered.
    pub fn failed_states(&self) -> Vec<StateId> {
        let ends = self.contract.stages.iter().flat_map(|stage| [stage.dead, stage.rejected]);
        let mut states: Vec<StateId> = ends.collect();
        states.sort_unstable();
        states.dedup();
        states
    }

    /// Returns the query for one complete row; `None` if no row can have this key.
    pub fn shown_row(&self, id: &str) -> Option<Statement> {
        let mut builder = SqlBuilder::new(self.dialect, "");
        let key = self.typed_key(&mut builder, id)?;
        let sql =
            format!("SELECT {}\nFROM {} AS t\nWHERE {} = {key}", self.view(false), self.name(), self.id());
        Some(builder.finish_with(sql))
    }

    /// Returns, for each table that effects fill with the row's key: its name, its columns, and the query for its
    /// records.
    pub fn records(&self, id: &str) -> Vec<(String, Vec<String>, Statement)> {
        let mut found: Vec<(String, Vec<String>, Statement)> = Vec::new();
        for effect in &self.contract.effects {
            let key = effect.values.iter().find(|(_, value)| *value == Expr::Id);
            let at = effect.values.iter().find(|(_, value)| *value == Expr::Now);
            let (Some((key, _)), Some((at, _)), Some(columns)) =
                (key, at, self.shape.related.get(&effect.table))
            else {
                continue;
            };
            let Some(at) = columns.iter().find(|column| column.name == *at) else { continue };
            let Some(key) = columns.iter().find(|column| column.name == *key) else { continue };
            if found.iter().any(|(table, _, _)| *table == effect.table) {
                continue;
            }
            let Ok(form) = column::time(self.dialect, self.contract.table.time, at) else { continue };
            let mut builder = SqlBuilder::new(self.dialect, "");
            let mut bound = builder.bind_text(id);
            if self.dialect == Dialect::Postgres {
                bound = format!("({bound})::{}", column::postgres_type(&key.sql_type));
            }
            let age = self.as_integer(&self.micros_since_as(form, &self.col(&at.name)));
            let shown = columns.iter().map(|column| self.shown(&column.name, &column.sql_type));
            let shown: Vec<String> = [self.clock(), age].into_iter().chain(shown).collect();
            let sql = format!(
                "SELECT {}\nFROM {} AS t\nWHERE {} = {bound}\nORDER BY {} DESC\nLIMIT {RECORDS}",
                shown.join(",\n  "),
                self.dialect.quoted_path(&effect.table),
                self.col(&key.name),
                self.col(&at.name)
            );
            let names = columns.iter().map(|column| column.name.clone()).collect();
            found.push((effect.table.clone(), names, builder.finish_with(sql)));
        }
        found
    }

    /// Returns the query for the ordered group of a row; `None` if no row of the table has one.
    pub fn group_of(&self, id: &str) -> Option<Statement> {
        let group = self.group()?;
        let mut builder = SqlBuilder::new(self.dialect, "");
        let key = self.typed_key(&mut builder, id)?;
        let column = self.col(&self.group_column(group));
        let sql = format!(
            "SELECT {}\nFROM {} AS t\nWHERE {} = {key} AND {}",
            self.as_text(&column),
            self.name(),
            self.id(),
            self.is_live(group)
        );
        Some(builder.finish_with(sql))
    }

    /// Returns the query for the first row of a group; `None` if the contract has no groups.
    pub fn head_of(&self, name: &str) -> Option<Statement> {
        let group = self.group()?;
        let mut builder = SqlBuilder::new(self.dialect, "");
        let bound = builder.bind_text(name);
        let mut conditions =
            vec![format!("{} = {bound}", self.col(&self.group_column(group))), self.is_live(group)];
        conditions.extend(self.not_passed(group));
        let order: Vec<String> = self.group_order(group);
        let sql = format!(
            "SELECT {}\nFROM {} AS t\nWHERE {}\nORDER BY {}\nLIMIT 1",
            self.key_text(&self.id()),
            self.name(),
            conditions.join("\n  AND "),
            order.join(", ")
        );
        Some(builder.finish_with(sql))
    }

    /// Returns the query whether a pool is paused, its limit, and its rows in flight; `None` if there are no pools.
    pub fn pool_of(&self, name: &str) -> Option<Statement> {
        let rule = self.contract.pool.as_ref().filter(|rule| self.shape.related.contains_key(&rule.table))?;
        let column = self.contract.column(ColumnRole::Pool)?;
        let flying = self.is_in_flight()?;
        let mut builder = SqlBuilder::new(self.dialect, "");
        let own = builder.bind_text(name);
        let counted = format!(
            "SELECT {} FROM (SELECT 1 AS one FROM {} AS t WHERE {flying} AND {} = {own} LIMIT {}) AS c",
            self.as_integer("COUNT(*)"),
            self.name(),
            self.col(column),
            COUNT_LIMIT + 1
        );
        let again = if self.dialect == Dialect::Mysql { builder.bind_text(name) } else { own.clone() };
        let of = |name: &str| format!("p.{}", self.quote(name));
        let sql = format!(
            "SELECT CASE WHEN {} THEN 1 ELSE 0 END,\n  {},\n  ({counted}),\n  {}\nFROM {} AS p\nWHERE {} = {again}",
            of(&rule.paused),
            self.as_integer(&of(&rule.concurrency)),
            self.as_integer(&of(&rule.rate)),
            self.dialect.quoted_path(&rule.table),
            of(&rule.id)
        );
        Some(builder.finish_with(sql))
    }

    /// Returns the query that counts the rows in these states that an action would move.
    pub fn preview(&self, from: &[StateId], which: &SelectedRows) -> Statement {
        let mut builder = SqlBuilder::new(self.dialect, "");
        let mut conditions = self.filter();
        match which {
            SelectedRows::Ids(ids) => {
                let mut keys: Vec<String> =
                    ids.iter().filter_map(|id| self.typed_key(&mut builder, id)).collect();
                keys.push("NULL".to_owned());
                conditions.push(format!("{} IN ({})", self.id(), keys.join(", ")));
                conditions.push(self.in_states(from, Lookup::Check));
            }
            SelectedRows::State { since, .. } => {
                if let [from] = from {
                    conditions.extend(self.finding_conditions(*from));
                }
                conditions.push(self.in_states(from, Lookup::Index));
                conditions.extend(since.map(|since| self.changed_since(&Shift::back(since))));
            }
        }
        let sql = format!(
            "SELECT {}\nFROM (SELECT 1 AS one FROM {} AS t{} LIMIT {}) AS counted",
            self.as_integer("COUNT(*)"),
            self.name(),
            clause(&conditions),
            COUNT_LIMIT + 1
        );
        builder.finish_with(sql)
    }

    /// The first of these times that is not NULL is the time of the row's last change.
    fn changed_since(&self, back: &Shift) -> String {
        let changed =
            [ColumnRole::Updated, ColumnRole::Attempted, ColumnRole::ClaimedAt, ColumnRole::Created];
        let mut unknown = String::new();
        let mut parts = Vec::new();
        for column in changed.into_iter().filter_map(|role| self.contract.column(role)) {
            parts.push(format!("{unknown}{} >= {}", self.instant(column), self.comparable(column, back)));
            unknown = format!("{unknown}{} IS NULL AND ", self.col(column));
        }
        if parts.is_empty() { "1 = 1".to_owned() } else { format!("({})", parts.join(" OR ")) }
    }
}

pub(super) fn clause(conditions: &[String]) -> String {
    if conditions.is_empty() { String::new() } else { format!("\nWHERE {}", conditions.join("\n  AND ")) }
}

fn is_hex(text: &str) -> bool {
    text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    groups == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests;
