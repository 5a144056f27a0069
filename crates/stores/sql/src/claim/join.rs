//! Related tables: which of them exist in this database, and what is read from those that feed the composer.
//!
//! Invariant: the fields are the same in every database. Optional tables and columns that are absent read as NULL;
//! required ones are reported when the lane opens, never by a failing query.

use std::collections::BTreeSet;

use postrider_contract::{Contract, Join};

use crate::Shape;
use crate::render::table::Table;

/// The SQL of one join.
pub(crate) struct Joined {
    pub columns: Vec<String>,
    /// Empty if there is nothing to join.
    pub clause: String,
}

impl Table<'_> {
    /// Returns all joins in their order.
    pub fn joins(&self) -> Vec<Joined> {
        let there = there(self.contract, self.shape);
        let of = |join: &Join| {
            let is_there = there.contains(join.alias.as_str());
            Joined {
                columns: join
                    .columns
                    .iter()
                    .map(|known| self.joined_column(join, &known.column.name, is_there))
                    .collect(),
                clause: if is_there { self.join_clause(join) } else { String::new() },
            }
        };
        self.contract.joins.iter().filter(|join| join.many.is_none()).map(of).collect()
    }

    fn joined_column(&self, join: &Join, column: &str, is_there: bool) -> String {
        if is_there && has(self.shape, &join.table, column) {
            return self.as_text(&format!("{}.{}", self.alias(&join.alias), self.quote(column)));
        }
        self.as_text("NULL")
    }

    /// Whether the table of a join is there, with the columns that it joins on.
    pub(super) fn has_join(&self, join: &Join) -> bool {
        there(self.contract, self.shape).contains(join.alias.as_str())
    }

    /// Returns the clause `LEFT JOIN … ON …`.
    pub(super) fn join_clause(&self, join: &Join) -> String {
        let alias = self.alias(&join.alias);
        let equal = |(column, (side, other)): &(String, (String, String))| {
            let side = if side == "row" { "t".to_owned() } else { self.alias(side) };
            format!("{alias}.{} = {side}.{}", self.quote(column), self.quote(other))
        };
        let on: Vec<String> = join.on.iter().map(equal).collect();
        let table = self.dialect.quoted_path(&join.table);
        format!("\nLEFT JOIN {table} AS {alias} ON {}", on.join(" AND "))
    }

    pub(super) fn alias(&self, name: &str) -> String {
        self.quote(&format!("j_{name}"))
    }
}

pub(super) fn has(shape: &Shape, table: &str, column: &str) -> bool {
    shape.related.get(table).is_some_and(|columns| columns.iter().any(|known| known.name == column))
}

/// The joins whose table exists with every column that they join on.
fn there<'a>(contract: &'a Contract, shape: &Shape) -> BTreeSet<&'a str> {
    let mut there = BTreeSet::new();
    for join in &contract.joins {
        let reaches = |side: &str, column: &str| {
            let other = contract.joins.iter().find(|other| other.alias == side && there.contains(side));
            side == "row" || other.is_some_and(|other| has(shape, &other.table, column))
        };
        let joins = |(column, (side, other)): &(String, (String, String))| {
            has(shape, &join.table, column) && reaches(side, other)
        };
        if join.on.iter().all(joins) {
            there.insert(join.alias.as_str());
        }
    }
    there
}

/// Returns what the contract needs of related tables and this database lacks, one sentence each.
pub(crate) fn missing(contract: &Contract, shape: &Shape) -> Vec<String> {
    let mut missing = Vec::new();
    for (index, effect) in contract.effects.iter().enumerate() {
        let (table, needed_by) = (&effect.table, format!("the contract's `effect.{}` fills it", index + 1));
        if !shape.related.contains_key(table) {
            missing.push(format!("table {table} is missing: {needed_by}"));
            continue;
        }
        let filled = effect.values.iter().map(|(column, _)| column);
        let lacking = filled.filter(|column| !has(shape, table, column));
        missing.extend(lacking.map(|column| format!("column {table}.{column} is missing: {needed_by}")));
    }
    for join in contract.joins.iter().filter(|join| !join.optional) {
        let (table, needed_by) = (&join.table, format!("the contract's `join.{}` needs it", join.alias));
        if !shape.related.contains_key(table) {
            missing.push(format!("table {table} is missing: {needed_by}"));
            continue;
        }
        let order = join.many.iter().flat_map(|many| &many.order);
        let own = join.on.iter().map(|(column, _)| column).chain(order);
        let required = join.columns.iter().filter(|known| !known.column.optional);
        let read = required.map(|known| &known.column.name);
        let lacking: BTreeSet<&String> =
            own.chain(read).filter(|column| !has(shape, table, column)).collect();
        missing
            .extend(lacking.iter().map(|column| format!("column {table}.{column} is missing: {needed_by}")));
    }
    missing
}

#[cfg(test)]
mod tests;
