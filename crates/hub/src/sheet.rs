//! Table definitions: which columns are selected, how a row is read, and how rows are inserted in bulk.
//!
//! Rows to insert are passed as one JSON array, so that the text of a statement does not depend on their number.

use postrider_seams::row::Value;
use postrider_sql::Dialect;
use postrider_sql::plain::{Arg, Statement};
use serde_json::Map;

use crate::Moment;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Int,
    Flag,
    Time,
}

/// The name and type of a column.
pub type Column = (&'static str, Kind);

/// A table of the hub with its columns, in the order in which they are selected and read.
#[derive(Debug, Clone, Copy)]
pub struct Sheet {
    pub table: &'static str,
    pub columns: &'static [Column],
}

/// Returns a name quoted for the dialect. The name must be one of ours: it is not escaped.
pub fn quoted(dialect: Dialect, name: &str) -> String {
    match dialect {
        Dialect::Mysql => format!("`{name}`"),
        Dialect::Postgres | Dialect::Sqlite => format!("\"{name}\""),
    }
}

/// Returns the expression for the status of a job in lists.
///
/// SQLite has no statistics of how many rows have a status: it would use an index on the bare column for every claim
/// too, and sort the whole backlog each time. There the index for lists is on an expression.
pub fn status_to_list(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "status",
        Dialect::Mysql => "`status`",
        Dialect::Sqlite => "(status || '')",
    }
}

/// The sort order of PostgreSQL's index of all rows by age, which only unfiltered lists use.
///
/// Its planner assumes that rows of every kind are evenly distributed: if the newest half million rows are of another
/// kind, it would scan all of them by age instead of using the index of the requested kind.
pub const NEWEST: &str = " DESC NULLS LAST";

/// Returns ` ORDER BY …` of a list, newest first. `narrowed`: the list has a filter whose index has the same order.
pub fn newest_first(dialect: Dialect, narrowed: bool) -> String {
    let way = if dialect == Dialect::Postgres && !narrowed { NEWEST } else { " DESC" };
    format!(" ORDER BY t.created_at{way}, t.id{way}")
}

/// Returns the expression for the time of the database.
pub fn now(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "now()",
        Dialect::Mysql => "UTC_TIMESTAMP(6)",
        Dialect::Sqlite => "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
    }
}

/// Returns the expression for the time this many seconds from now; negative: in the past.
pub fn now_and(dialect: Dialect, seconds: i64) -> String {
    match dialect {
        Dialect::Postgres => format!("now() + interval '{seconds} seconds'"),
        Dialect::Mysql => format!("UTC_TIMESTAMP(6) + INTERVAL {seconds} SECOND"),
        Dialect::Sqlite => format!("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '{seconds} seconds')"),
    }
}

impl Sheet {
    /// Returns the columns of a SELECT in the order in which [`Reader`] reads them, for the table alias `t`.
    pub fn listed(&self, dialect: Dialect) -> String {
        self.listed_of(dialect, "t")
    }

    /// Returns the columns of a SELECT for another alias of the table.
    pub fn listed_of(&self, dialect: Dialect, alias: &str) -> String {
        let column = |(name, kind): &Column| {
            let name = quoted(dialect, name);
            match (kind, dialect) {
                (Kind::Time, Dialect::Postgres) => {
                    format!("to_char({alias}.{name} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
                }
                (Kind::Time, Dialect::Mysql) => {
                    format!("DATE_FORMAT({alias}.{name}, '%Y-%m-%dT%H:%i:%s.%fZ')")
                }
                _ => format!("{alias}.{name}"),
            }
        };
        let columns: Vec<String> = self.columns.iter().map(column).collect();
        columns.join(", ")
    }

    /// Returns `SELECT … FROM … AS t` with all columns of the table.
    pub fn selected(&self, dialect: Dialect) -> String {
        format!("SELECT {} FROM {} AS t", self.listed(dialect), self.table)
    }
}

/// A row to insert, by column name. Columns that are left out are NULL.
#[derive(Debug, Clone, Default)]
pub struct Fresh(Map<String, serde_json::Value>);

impl Fresh {
    /// Creates a row without values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a text column; `None` leaves it NULL.
    pub fn text(mut self, column: &str, value: impl Into<Option<String>>) -> Self {
        if let Some(value) = value.into() {
            self.0.insert(column.to_owned(), value.into());
        }
        self
    }

    /// Sets an integer column; `None` leaves it NULL.
    pub fn int(mut self, column: &str, value: impl Into<Option<i64>>) -> Self {
        if let Some(value) = value.into() {
            self.0.insert(column.to_owned(), value.into());
        }
        self
    }

    /// Sets a boolean column.
    pub fn flag(self, column: &str, value: bool) -> Self {
        self.int(column, i64::from(value))
    }

    /// Sets a time column; `None` leaves it NULL.
    pub fn time(self, dialect: Dialect, column: &str, value: Option<Moment>) -> Self {
        self.text(column, value.map(|value| value.written(dialect)))
    }
}

/// A bulk insert: the table, its columns, and options.
#[derive(Debug, Clone, Default)]
pub struct Insert<'a> {
    pub table: &'a str,
    pub columns: &'a [Column],
    /// Computed columns: name and expression over `v.column` (see [`given`]).
    pub computed: Vec<(&'a str, String)>,
    /// Condition on the rows to insert; `None` inserts all.
    pub only: Option<String>,
    /// Whether to skip rows that violate a unique key. Otherwise such a row is an error.
    pub or_nothing: bool,
}

/// Returns the expression for a column of the rows to insert.
pub fn given(dialect: Dialect, column: &str) -> String {
    match dialect {
        Dialect::Postgres => format!("v.\"{column}\""),
        Dialect::Mysql => format!("CONVERT(v.`{column}` USING utf8mb4) COLLATE utf8mb4_bin"),
        Dialect::Sqlite => format!("(v.value ->> '$.{column}')"),
    }
}

impl Insert<'_> {
    /// Returns the statement that inserts these rows.
    pub fn rows(&self, dialect: Dialect, rows: Vec<Fresh>) -> Statement {
        let rows: Vec<serde_json::Value> = rows.into_iter().map(|row| row.0.into()).collect();
        let into =
            self.columns.iter().map(|(name, _)| *name).chain(self.computed.iter().map(|(name, _)| *name));
        let into: Vec<String> = into.map(|name| quoted(dialect, name)).collect();
        let from = self.columns.iter().map(|column| taken(dialect, *column));
        let from: Vec<String> = from.chain(self.computed.iter().map(|(_, made)| made.clone())).collect();
        let only = self.only.as_deref().unwrap_or("1 = 1");
        let sql = format!(
            "INSERT INTO {} ({}) SELECT {} FROM {} WHERE {only}{}",
            self.table,
            into.join(", "),
            from.join(", "),
            source(dialect, self.columns),
            if self.or_nothing { or_nothing(dialect, self.table) } else { String::new() }
        );
        Statement { sql, args: vec![Arg::Text(Some(serde_json::Value::Array(rows).to_string()))] }
    }
}

fn taken(dialect: Dialect, (name, kind): Column) -> String {
    match (dialect, kind) {
        (Dialect::Postgres, Kind::Flag) => format!("v.\"{name}\" <> 0"),
        (Dialect::Mysql, _) => format!("v.`{name}`"),
        _ => given(dialect, name),
    }
}

fn source(dialect: Dialect, columns: &[Column]) -> String {
    let typed = |types: [&str; 4], path: bool| -> String {
        let column = |(name, kind): &Column| {
            let sql_type = types[*kind as usize];
            let path = if path { format!(" PATH '$.{name}'") } else { String::new() };
            format!("{} {sql_type}{path}", quoted(dialect, name))
        };
        columns.iter().map(column).collect::<Vec<_>>().join(", ")
    };
    match dialect {
        Dialect::Postgres => format!(
            "json_to_recordset(CAST($1 AS json)) AS v({})",
            typed(["text", "bigint", "integer", "timestamptz"], false)
        ),
        Dialect::Mysql => format!(
            "JSON_TABLE(?, '$[*]' COLUMNS ({})) AS v",
            typed(["LONGTEXT", "BIGINT", "INT", "DATETIME(6)"], true)
        ),
        Dialect::Sqlite => "json_each(?1) AS v".to_owned(),
    }
}

fn or_nothing(dialect: Dialect, table: &str) -> String {
    match dialect {
        Dialect::Mysql => format!(" ON DUPLICATE KEY UPDATE id = {table}.id"),
        Dialect::Postgres | Dialect::Sqlite => " ON CONFLICT DO NOTHING".to_owned(),
    }
}

/// Reads the columns of a selected row in order.
pub struct Reader(std::vec::IntoIter<Value>);

impl Reader {
    /// Creates a reader at the first column of the row.
    pub fn new(row: Vec<Value>) -> Self {
        Self(row.into_iter())
    }

    /// Reads a text; `None` if it is NULL or not readable as text.
    pub fn text(&mut self) -> Option<String> {
        match self.0.next()? {
            Value::Text(text) => Some(text),
            Value::Int(number) => Some(number.to_string()),
            Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Value::Bool(_) | Value::Float(_) | Value::Null => None,
        }
    }

    /// Reads a text that is never NULL; empty if it is unreadable.
    pub fn word(&mut self) -> String {
        self.text().unwrap_or_default()
    }

    /// Reads an integer; `None` if it is NULL or not a number.
    pub fn int(&mut self) -> Option<i64> {
        match self.0.next()? {
            Value::Int(number) => Some(number),
            Value::Bool(flag) => Some(flag.into()),
            Value::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// Reads a boolean; false if it is NULL.
    pub fn flag(&mut self) -> bool {
        self.int().is_some_and(|number| number != 0)
    }

    /// Reads a time; `None` if it is NULL or not readable as a time.
    pub fn time(&mut self) -> Option<Moment> {
        self.text().and_then(|text| Moment::found(&text))
    }

    /// Reads a JSON column; NULL gives the default. Sets `readable` to false if the text does not have the expected
    /// form.
    pub fn json_in<T: serde::de::DeserializeOwned + Default>(&mut self, readable: &mut bool) -> T {
        let Some(text) = self.text() else { return T::default() };
        serde_json::from_str(&text).unwrap_or_else(|_| {
            *readable = false;
            T::default()
        })
    }

    /// Reads a JSON column that is only shown; NULL and unreadable text give the default.
    pub fn json<T: serde::de::DeserializeOwned + Default>(&mut self) -> T {
        self.text().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }
}
