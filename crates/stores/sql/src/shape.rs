//! The columns, related tables and indexes of a table, as its database describes them.

use std::collections::{BTreeMap, BTreeSet};

use postrider_contract::Contract;

use crate::ddl;

/// The columns of a table, as its database describes them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    pub columns: Vec<ShapeColumn>,
    /// Table name → columns of the tables that effects insert into. Columns of a table that is missing here are treated
    /// as text.
    pub related: BTreeMap<String, Vec<ShapeColumn>>,
    /// Columns that are the first of an index, so that a search covers all rows. `true`: prefix searches too.
    pub indexed: BTreeMap<String, bool>,
    /// Columns with an index on a prefix of their values, as `migrate --search` makes it on PostgreSQL.
    pub prefix_indexed: BTreeSet<String>,
    /// Tables and columns that reference the row's key with ON DELETE CASCADE, if the database would not cascade:
    /// SQLite does so only on connections that enforce foreign keys.
    pub cascades: Vec<(String, String)>,
    /// Whether the internal table of recipient results exists.
    pub recipients: bool,
    /// PostgreSQL: whether the internal table of begun rows exists, so that a claim need not be flushed before its mark.
    pub marks: bool,
}

/// A column as its database describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeColumn {
    pub name: String,
    /// As the database spells it, precision included: `timestamp(3) without time zone`, `varchar(26)`, `INTEGER`.
    pub sql_type: String,
    /// MySQL only: keys and fences in JSON are compared in the column's collation, otherwise no index is used.
    pub collation: Option<String>,
    pub nullable: bool,
    pub has_default: bool,
}

impl ShapeColumn {
    /// A nullable column without a default.
    pub fn new(name: impl Into<String>, sql_type: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            sql_type: sql_type.into(),
            collation: None,
            nullable: true,
            has_default: false,
        }
    }
}

impl Shape {
    /// Returns the column of this name; `None` if the table has none.
    pub fn column(&self, name: &str) -> Option<&ShapeColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns a column whose name differs only in case.
    pub(crate) fn namesake(&self, name: &str) -> Option<&str> {
        let same = |column: &&ShapeColumn| column.name != name && column.name.eq_ignore_ascii_case(name);
        self.columns.iter().find(same).map(|column| column.name.as_str())
    }

    /// Renames columns to the contract's spelling, for databases that ignore case in names.
    pub fn spell(&mut self, contract: &Contract) {
        let rename = |columns: &mut [ShapeColumn], names: &[String]| {
            for column in columns {
                if let Some(name) = names.iter().find(|name| name.eq_ignore_ascii_case(&column.name)) {
                    column.name.clone_from(name);
                }
            }
        };
        rename(&mut self.columns, &ddl::known_columns(contract));
        for (table, columns) in &mut self.related {
            let effects = contract.effects.iter().filter(|effect| effect.table == *table);
            let joins = contract.joins.iter().filter(|join| join.table == *table);
            let mut names: Vec<String> =
                effects.flat_map(|effect| effect.values.iter().map(|(name, _)| name.clone())).collect();
            for join in joins {
                names.extend(join.columns.iter().map(|known| known.column.name.clone()));
                names.extend(join.many.iter().flat_map(|many| many.order.iter().cloned()));
                names.extend(join.on.iter().map(|(name, _)| name.clone()));
            }
            rename(columns, &names);
        }
    }
}
