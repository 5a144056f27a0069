//! An index as the database describes it, and the statement that creates it.

use std::collections::BTreeSet;

use postrider_contract::{Condition, StateId};

use super::table_name;
use crate::Dialect;
use crate::claim::statements::returning;
use crate::render::condition::Lookup;
use crate::render::ident;
use crate::render::table::Table;

/// An index as the database describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Index {
    pub name: String,
    /// Leading plain columns; an expression ends the list.
    pub columns: Vec<String>,
    /// Whether it covers only some rows.
    pub partial: bool,
}

impl Index {
    /// Whether this index is the needed one or can replace it.
    pub(crate) fn serves(&self, needed: &Self) -> bool {
        let same_name = self.name.eq_ignore_ascii_case(&needed.name);
        let plain = !needed.columns.is_empty() && !needed.partial && !self.partial;
        same_name || (plain && self.columns.starts_with(&needed.columns))
    }
}

/// A needed index, and the statement that creates it.
pub(crate) struct Needed {
    pub index: Index,
    pub create: String,
}

impl Table<'_> {
    pub(super) fn columns_index(&self, name: &str, columns: &[String]) -> Needed {
        if self.dialect == Dialect::Mysql {
            return self
                .mysql_columns_index(name, columns.iter().map(|column| (column.clone(), false)).collect());
        }
        let name = index_name(&self.contract.table.name, name);
        let keys: Vec<String> = columns.iter().map(|column| self.quote(column)).collect();
        let create = format!("CREATE INDEX IF NOT EXISTS {} ({})", self.placed(&name), keys.join(", "));
        Needed { index: Index { name, columns: columns.to_vec(), partial: false }, create }
    }

    /// `NAME ON TABLE`. An index is in the schema of its table: PostgreSQL accepts a schema only with the table, SQLite
    /// only with the index.
    fn placed(&self, name: &str) -> String {
        let table = &self.contract.table;
        let name = self.dialect.quoted(name);
        match (&table.schema, self.dialect) {
            (Some(schema), Dialect::Sqlite) => {
                format!("{}.{name} ON {}", self.dialect.quoted(schema), self.dialect.quoted(&table.name))
            }
            _ => format!("{name} ON {}", table_name(self.contract, self.dialect)),
        }
    }

    /// An index of all rows by these expressions.
    pub(super) fn keys_index(&self, name: &str, keys: &[String]) -> Needed {
        let keys: Vec<String> = keys.iter().map(|key| index_key(key)).collect();
        let plain: Vec<String> = keys.iter().map_while(|key| plain_column(key)).collect();
        if plain.len() == keys.len() {
            return self.columns_index(name, &plain);
        }
        let name = index_name(&self.contract.table.name, name);
        let create = format!("CREATE INDEX IF NOT EXISTS {} ({})", self.placed(&name), keys.join(", "));
        // No other index serves instead: its expressions are not known.
        Needed { index: Index { name, columns: Vec::new(), partial: false }, create }
    }

    pub(super) fn timed_index(&self, name: &str, state: StateId, column: &str) -> Needed {
        match self.dialect {
            Dialect::Mysql => self.mysql_index(name, state, &[(column.to_owned(), false)]),
            Dialect::Postgres | Dialect::Sqlite => {
                let key = index_key(&self.instant(column));
                self.partial_index(name, &[key], &self.in_state(state, Lookup::Index))
            }
        }
    }

    pub(super) fn partial_index(&self, name: &str, keys: &[String], condition: &str) -> Needed {
        let name = index_name(&self.contract.table.name, name);
        let create = format!(
            "CREATE INDEX IF NOT EXISTS {} ({}) WHERE {}",
            self.placed(&name),
            keys.join(", "),
            returning(condition)
        );
        let columns = keys.iter().map_while(|key| plain_column(key)).collect();
        Needed { index: Index { name, columns, partial: true }, create }
    }

    /// The state columns first, then the order.
    pub(super) fn mysql_index(&self, name: &str, state: StateId, order: &[(String, bool)]) -> Needed {
        let held = self.contract.state(state).conditions.iter();
        let mut columns: Vec<(String, bool)> = held
            .filter(|(_, condition)| matches!(condition, Condition::Is(_)))
            .map(|(column, _)| (column.clone(), false))
            .collect();
        let filter = self.contract.claim.filter.iter().map(|(column, _)| (column.clone(), false));
        columns.extend(filter);
        columns.extend(order.iter().cloned());
        self.mysql_columns_index(name, columns)
    }

    pub(super) fn mysql_columns_index(&self, name: &str, mut columns: Vec<(String, bool)>) -> Needed {
        let name = index_name(&self.contract.table.name, name);
        let mut seen = BTreeSet::new();
        columns.retain(|(column, _)| seen.insert(column.clone()));
        let keys: Vec<String> = columns
            .iter()
            .map(|(column, descending)| {
                let long = self.shape_of(column).sql_type.to_ascii_lowercase().contains("text");
                let prefix = if long { "(64)" } else { "" };
                format!("{}{prefix}{}", self.quote(column), if *descending { " DESC" } else { "" })
            })
            .collect();
        let create = format!(
            "CREATE INDEX {} ON {} ({})",
            self.dialect.quoted(&name),
            table_name(self.contract, self.dialect),
            keys.join(", ")
        );
        let columns = columns.into_iter().map(|(column, _)| column).collect();
        Needed { index: Index { name, columns, partial: false }, create }
    }
}

/// Returns a plain column unchanged, any other expression in parentheses.
pub(crate) fn index_key(expression: &str) -> String {
    let bare = returning(expression);
    let is_column = bare.starts_with('"') && bare.matches('"').count() == 2 && bare.ends_with('"');
    if is_column { bare } else { format!("({bare})") }
}

fn plain_column(key: &str) -> Option<String> {
    key.strip_prefix('"')?.strip_suffix('"').map(str::to_owned)
}

/// `table_what`, truncated to the length that every database accepts, with a hash of the full name.
pub(super) fn index_name(table: &str, what: &str) -> String {
    let what: String = what.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    ident::bounded(&format!("{table}_{what}"))
}
