//! A table of ours, and how its columns travel: what is selected, how a row is read, how many rows are inserted at once.
//!
//! Rows to insert travel as one JSON array, so that a statement's text does not depend on how many there are.

use postrider_seams::row::Value;
use postrider_sql::Dialect;
use postrider_sql::plain::{Arg, Statement};
use serde_json::Map;

use crate::Moment;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Int,
    Flag,
    Time,
}

pub type Column = (&'static str, Kind);

#[derive(Debug, Clone, Copy)]
pub struct Sheet {
    pub table: &'static str,
    pub columns: &'static [Column],
}

pub fn quoted(dialect: Dialect, name: &str) -> String {
    match dialect {
        Dialect::Mysql => format!("`{name}`"),
        Dialect::Postgres | Dialect::Sqlite => format!("\"{name}\""),
    }
}

/// A job's status as its lists ask for it. SQLite, which knows nothing of how many rows have a status, would take an index
/// of the bare column for every claim too, and sort the whole backlog each time: there the lists' index is of an expression.
pub fn status_to_list(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "status",
        Dialect::Mysql => "`status`",
        Dialect::Sqlite => "(status || '')",
    }
}

/// How PostgreSQL keeps the index of all rows by age, and how only lists of all rows ask for it. Its planner takes rows of
/// every kind for equally spread: where the newest half million are of another kind, it would read them all to pass them
/// over, rather than take the index of the kind that was asked for.
pub const NEWEST: &str = " DESC NULLS LAST";

/// ` ORDER BY …` of a list, newest first; `narrowed`: an index of what it asks for has the same order.
pub fn newest_first(dialect: Dialect, narrowed: bool) -> String {
    let way = if dialect == Dialect::Postgres && !narrowed { NEWEST } else { " DESC" };
    format!(" ORDER BY t.created_at{way}, t.id{way}")
}

/// The database's own clock.
pub fn now(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "now()",
        Dialect::Mysql => "UTC_TIMESTAMP(6)",
        Dialect::Sqlite => "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
    }
}

/// So many seconds from now (before, if negative), as a column of times has it.
pub fn now_and(dialect: Dialect, seconds: i64) -> String {
    match dialect {
        Dialect::Postgres => format!("now() + interval '{seconds} seconds'"),
        Dialect::Mysql => format!("UTC_TIMESTAMP(6) + INTERVAL {seconds} SECOND"),
        Dialect::Sqlite => format!("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '{seconds} seconds')"),
    }
}

impl Sheet {
    /// What a SELECT lists, for [`Reader`] to read.
    pub fn listed(&self, dialect: Dialect) -> String {
        self.listed_of(dialect, "t")
    }

    /// The same, where the table goes by another alias.
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

    pub fn selected(&self, dialect: Dialect) -> String {
        format!("SELECT {} FROM {} AS t", self.listed(dialect), self.table)
    }
}

/// One row to insert: the members are columns; one that is not there is NULL.
#[derive(Debug, Clone, Default)]
pub struct Fresh(Map<String, serde_json::Value>);

impl Fresh {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn text(mut self, column: &str, value: impl Into<Option<String>>) -> Self {
        if let Some(value) = value.into() {
            self.0.insert(column.to_owned(), value.into());
        }
        self
    }

    pub fn int(mut self, column: &str, value: impl Into<Option<i64>>) -> Self {
        if let Some(value) = value.into() {
            self.0.insert(column.to_owned(), value.into());
        }
        self
    }

    pub fn flag(self, column: &str, value: bool) -> Self {
        self.int(column, i64::from(value))
    }

    pub fn time(self, dialect: Dialect, column: &str, value: Option<Moment>) -> Self {
        self.text(column, value.map(|value| value.written(dialect)))
    }
}

/// What an insert does besides.
#[derive(Debug, Clone, Default)]
pub struct Insert<'a> {
    pub table: &'a str,
    pub columns: &'a [Column],
    /// Columns that are computed: name and expression, over `v.column` (see [`given`]).
    pub computed: Vec<(&'a str, String)>,
    /// Only the rows that this holds for.
    pub only: Option<String>,
    /// A row whose key is taken is left out, silently; else it is an error.
    pub or_nothing: bool,
}

/// A column of the rows that are given, in an expression.
pub fn given(dialect: Dialect, column: &str) -> String {
    match dialect {
        Dialect::Postgres => format!("v.\"{column}\""),
        Dialect::Mysql => format!("CONVERT(v.`{column}` USING utf8mb4) COLLATE utf8mb4_bin"),
        Dialect::Sqlite => format!("(v.value ->> '$.{column}')"),
    }
}

impl Insert<'_> {
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

/// Reads a selected row, column by column.
pub struct Reader(std::vec::IntoIter<Value>);

impl Reader {
    pub fn new(row: Vec<Value>) -> Self {
        Self(row.into_iter())
    }

    pub fn text(&mut self) -> Option<String> {
        match self.0.next()? {
            Value::Text(text) => Some(text),
            Value::Int(number) => Some(number.to_string()),
            Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Value::Bool(_) | Value::Float(_) | Value::Null => None,
        }
    }

    /// Of a column that is never NULL.
    pub fn word(&mut self) -> String {
        self.text().unwrap_or_default()
    }

    pub fn int(&mut self) -> Option<i64> {
        match self.0.next()? {
            Value::Int(number) => Some(number),
            Value::Bool(flag) => Some(flag.into()),
            Value::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    pub fn flag(&mut self) -> bool {
        self.int().is_some_and(|number| number != 0)
    }

    pub fn time(&mut self) -> Option<Moment> {
        self.text().and_then(|text| Moment::found(&text))
    }

    /// A column of JSON; NULL is the default. `readable` becomes false where the text is not what it should be.
    pub fn json_in<T: serde::de::DeserializeOwned + Default>(&mut self, readable: &mut bool) -> T {
        let Some(text) = self.text() else { return T::default() };
        serde_json::from_str(&text).unwrap_or_else(|_| {
            *readable = false;
            T::default()
        })
    }

    /// A column of JSON that is only shown; what can't be read is as if it were empty.
    pub fn json<T: serde::de::DeserializeOwned + Default>(&mut self) -> T {
        self.text().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }
}
