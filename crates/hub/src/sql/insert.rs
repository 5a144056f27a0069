//! Rows to insert, and statements that insert them in bulk.
//!
//! Rows are passed as one JSON array, so that the text of a statement does not depend on their number. The columns of
//! a statement are those of its first row: all rows of a statement must set the same columns.

use postrider_sql::driver::execute::Arg;
use serde_json::{Map, Value};

use super::clauses::SqlValue;
use super::{Column, ColumnType, Dialect, SqlBuilder, Statement};
use crate::Moment;

/// Bytes of rows in one statement, beyond which a next one begins.
const PART: usize = 2 << 20;

/// The values of a row to write, each with its column and type.
#[derive(Debug, Clone, Default)]
pub struct NewRow(pub(super) Vec<(&'static str, SqlValue)>);

impl NewRow {
    /// Creates a row without values.
    pub fn new() -> Self {
        Self::default()
    }

    fn set(mut self, column: &'static str, value: SqlValue) -> Self {
        self.0.push((column, value));
        self
    }

    /// Sets a text column; `None` sets NULL.
    pub fn text(self, column: &'static str, value: impl Into<Option<String>>) -> Self {
        self.set(column, SqlValue::Text(value.into()))
    }

    /// Sets a text column to a value converted to JSON.
    pub fn json(self, column: &'static str, value: &impl serde::Serialize) -> Self {
        self.text(column, serde_json::json!(value).to_string())
    }

    /// Sets an integer column; `None` sets NULL.
    pub fn int(self, column: &'static str, value: impl Into<Option<i64>>) -> Self {
        self.set(column, SqlValue::Int(value.into()))
    }

    /// Sets a boolean column.
    pub fn flag(self, column: &'static str, value: bool) -> Self {
        self.set(column, SqlValue::Flag(value))
    }

    /// Sets a time column; `None` sets NULL.
    pub fn time(self, column: &'static str, value: Option<Moment>) -> Self {
        self.set(column, SqlValue::Time(value))
    }

    fn columns(&self) -> Vec<Column> {
        self.0.iter().map(|(name, cell)| (*name, cell.column_type())).collect()
    }

    /// Converts the row to a JSON object. NULLs are left out.
    fn into_json(self, dialect: Dialect) -> Value {
        let members = self.0.into_iter().filter_map(|(column, cell)| {
            let value = match cell {
                SqlValue::Text(text) => text?.into(),
                SqlValue::Int(number) => number?.into(),
                SqlValue::Flag(flag) => i64::from(flag).into(),
                SqlValue::Time(time) => time?.for_column(dialect).into(),
            };
            Some((column.to_owned(), value))
        });
        Value::Object(members.collect::<Map<_, _>>())
    }
}

/// A bulk insert into a table.
#[derive(Debug, Clone, Default)]
pub struct Insert<'a> {
    table: &'a str,
    computed: Vec<(&'a str, String)>,
    condition: Option<String>,
    skip_duplicates: bool,
}

impl<'a> Insert<'a> {
    /// Starts an insert into this table.
    pub fn into(table: &'a str) -> Self {
        Self { table, ..Self::default() }
    }

    /// Adds a column whose value is an expression over the columns of the rows (see [`source_column`]).
    pub fn computed(mut self, column: &'a str, expression: String) -> Self {
        self.computed.push((column, expression));
        self
    }

    /// Sets a condition on the rows to insert; `None` inserts all.
    pub fn only(mut self, condition: Option<String>) -> Self {
        self.condition = condition;
        self
    }

    /// Skips rows that violate a unique key. Otherwise such a row is an error.
    pub fn skip_duplicates(mut self, skip: bool) -> Self {
        self.skip_duplicates = skip;
        self
    }

    /// Returns the statements that insert these rows: one for about [`PART`] bytes of rows, so that no more than that is
    /// copied on the way to the database, and no statement exceeds a server's limit. Rows are made one at a time.
    pub fn parts(&self, dialect: Dialect, rows: impl IntoIterator<Item = NewRow>) -> Vec<Statement> {
        let mut statements = Vec::new();
        let mut rows = rows.into_iter().peekable();
        while let Some(first) = rows.peek() {
            let columns = first.columns();
            let mut json = String::new();
            while json.len() < PART
                && let Some(row) = rows.next()
            {
                json.push(if json.is_empty() { '[' } else { ',' });
                json.push_str(&row.into_json(dialect).to_string());
            }
            json.push(']');
            statements.push(self.statement(dialect, &columns, json));
        }
        statements
    }

    /// Returns the statement that inserts these rows, which must be few or small.
    pub fn rows(self, dialect: Dialect, rows: Vec<NewRow>) -> Statement {
        let columns = rows.first().map(NewRow::columns).unwrap_or_default();
        let rows: Value = rows.into_iter().map(|row| row.into_json(dialect)).collect();
        self.statement(dialect, &columns, rows.to_string())
    }

    fn statement(&self, dialect: Dialect, columns: &[Column], json: String) -> Statement {
        let computed = self.computed.iter().map(|(name, value)| (*name, value.clone()));
        let (names, values): (Vec<String>, Vec<String>) = columns
            .iter()
            .map(|column| (column.0, source_value(dialect, *column)))
            .chain(computed)
            .map(|(name, value)| (dialect.quoted(name), value))
            .unzip();
        let condition = self.condition.as_deref().unwrap_or("1 = 1");
        let start =
            format!("INSERT INTO {} ({}) SELECT {} FROM ", self.table, names.join(", "), values.join(", "));
        let (before, after) = source_rows(dialect, columns);
        let mut insert = SqlBuilder::new(dialect, start + before);
        let placeholder = insert.bind_bare(Arg::Text(Some(json)));
        insert
            .push(&placeholder)
            .push(&after)
            .push(&format!(" WHERE {condition}"))
            .push(&if self.skip_duplicates { on_duplicate(dialect, self.table) } else { String::new() })
            .finish()
    }

    /// Returns the statement that inserts one row.
    pub fn row(self, dialect: Dialect, row: NewRow) -> Statement {
        self.rows(dialect, vec![row])
    }
}

/// Returns the expression for a text column of the rows to insert, comparable with columns of the tables.
pub fn source_column(dialect: Dialect, column: &str) -> String {
    match dialect {
        Dialect::Postgres => format!("v.\"{column}\""),
        Dialect::Mysql => format!("CONVERT(v.`{column}` USING utf8mb4) COLLATE utf8mb4_bin"),
        Dialect::Sqlite => format!("(v.value ->> '$.{column}')"),
    }
}

/// Returns the expression for the value of a column of the rows to insert.
pub fn source_value(dialect: Dialect, (name, kind): Column) -> String {
    match (dialect, kind) {
        (Dialect::Postgres, ColumnType::Flag) => format!("v.\"{name}\" <> 0"),
        (Dialect::Mysql, _) => format!("v.`{name}`"),
        _ => source_column(dialect, name),
    }
}

/// Returns the SQL before and after the JSON array of rows, which makes it a table `v` with these columns.
fn source_rows(dialect: Dialect, columns: &[Column]) -> (&'static str, String) {
    let typed = |types: [&str; 4], path: bool| -> String {
        let column = |(name, kind): &Column| {
            let path = if path { format!(" PATH '$.{name}'") } else { String::new() };
            format!("{} {}{path}", dialect.quoted(name), types[*kind as usize])
        };
        columns.iter().map(column).collect::<Vec<_>>().join(", ")
    };
    match dialect {
        Dialect::Postgres => {
            let columns = typed(["text", "bigint", "integer", "timestamptz"], false);
            ("json_to_recordset(CAST(", format!(" AS json)) AS v({columns})"))
        }
        Dialect::Mysql => {
            let columns = typed(["LONGTEXT", "BIGINT", "INT", "DATETIME(6)"], true);
            ("JSON_TABLE(", format!(", '$[*]' COLUMNS ({columns})) AS v"))
        }
        Dialect::Sqlite => ("json_each(", ") AS v".to_owned()),
    }
}

fn on_duplicate(dialect: Dialect, table: &str) -> String {
    match dialect {
        Dialect::Mysql => format!(" ON DUPLICATE KEY UPDATE id = {table}.id"),
        Dialect::Postgres | Dialect::Sqlite => " ON CONFLICT DO NOTHING".to_owned(),
    }
}
