//! The description of a table that no contract names yet: its columns, its keys, and a sample of what it holds.
//!
//! Stores read it, and `contract draft` guesses a contract from it.

/// A table, as its database describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableDescription {
    pub database: DatabaseKind,
    pub schema: Option<String>,
    pub name: String,
    pub columns: Vec<ColumnDescription>,
    /// The columns of each unique key that covers all rows.
    pub unique: Vec<Vec<String>>,
    /// The columns of each index, in order; an expression and what follows it are left out.
    pub indexes: Vec<Vec<String>>,
    /// The expressions of CHECK constraints.
    pub checks: Vec<String>,
    /// The number of rows that were sampled.
    pub rows: u64,
}

/// The database of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DatabaseKind {
    #[default]
    Postgres,
    Mysql,
    Sqlite,
}

/// A column, and what the sampled rows hold in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnDescription {
    pub name: String,
    /// As the database spells it.
    pub sql_type: String,
    pub nullable: bool,
    pub has_default: bool,
    /// The values of an enumerated type.
    pub labels: Vec<String>,
    /// The number of sampled rows in which it is not NULL.
    pub filled: u64,
    /// The distinct values, most frequent first, if they were sampled and there are few.
    pub values: Option<Vec<SampledValue>>,
    /// The start of one of the values.
    pub example: Option<String>,
}

/// A value of a column in the sampled rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SampledValue {
    /// The value as text; `None` for NULL.
    pub value: Option<String>,
    pub rows: u64,
    /// For each column of the table, in how many of these rows it is not NULL.
    pub filled: Vec<u64>,
}

impl TableDescription {
    /// Returns the column of this name, whatever its case.
    pub fn column(&self, name: &str) -> Option<&ColumnDescription> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// Returns the name as contracts write it: `name`, or `schema.name`.
    pub fn path(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{schema}.{}", self.name),
            None => self.name.clone(),
        }
    }
}
