//! Rows to insert, and statements that insert them in bulk.
//!
//! Rows are passed as one JSON array, so that the text of a statement does not depend on their number. The columns of
//! a statement are those of its first row: all rows of a statement must set the same columns.

use postrider_sql::driver::execute::Arg;

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

    /// Appends the row as a JSON object. NULLs are left out.
    fn write_json(self, dialect: Dialect, json: &mut String) {
        json.push('{');
        let mut separator = "";
        for (column, cell) in self.0 {
            let start = json.len();
            json.push_str(separator);
            // The name of a column needs no escapes.
            json.extend(["\"", column, "\":"]);
            match cell {
                SqlValue::Text(Some(text)) => json.push_str(&json_text(&text)),
                SqlValue::Time(Some(time)) => json.push_str(&json_text(&time.for_column(dialect))),
                SqlValue::Int(Some(number)) => json.push_str(&number.to_string()),
                SqlValue::Flag(flag) => json.push(if flag { '1' } else { '0' }),
                SqlValue::Text(None) | SqlValue::Int(None) | SqlValue::Time(None) => {
                    json.truncate(start);
                    continue;
                }
            }
            separator = ",";
        }
        json.push('}');
    }
}

fn json_text(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}

/// A bulk insert into a table.
#[derive(Debug, Clone, Default)]
pub struct Insert<'a> {
    table: &'a str,
    computed: Vec<(&'a str, String)>,
    condition: Option<String>,
    skip_duplicates: bool,
    returning: Option<String>,
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

    /// Returns these columns of each row that was inserted. Not on MySQL.
    pub fn returning(self, columns: Option<String>) -> Self {
        Self { returning: columns, ..self }
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
                row.write_json(dialect, &mut json);
            }
            json.push(']');
            statements.push(self.statement(dialect, &columns, json));
        }
        statements
    }

    /// Returns the statement that inserts these rows, which must be few or small.
    pub fn rows(self, dialect: Dialect, rows: Vec<NewRow>) -> Statement {
        let columns = rows.first().map(NewRow::columns).unwrap_or_default();
        let mut json = String::from("[");
        for row in rows {
            if json.len() > 1 {
                json.push(',');
            }
            row.write_json(dialect, &mut json);
        }
        json.push(']');
        self.statement(dialect, &columns, json)
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
            .push(&self.returning.as_ref().map(|columns| format!(" RETURNING {columns}")).unwrap_or_default())
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
