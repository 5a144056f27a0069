//! SQL builder: keeps the text of a statement and the values of its placeholders in step.

use postrider_sql::driver::execute::Arg;

use super::dialect::{now, now_plus, quoted};
use super::{ColumnType, Dialect, NewRow, Statement, Table};
use crate::Moment;
use crate::access::Scope;

/// A value to bind, with its type: a NULL has one too.
#[derive(Debug, Clone)]
pub enum Cell {
    Text(Option<String>),
    Int(Option<i64>),
    Flag(bool),
    Time(Option<Moment>),
}

impl Cell {
    pub(super) fn column_type(&self) -> ColumnType {
        match self {
            Self::Text(_) => ColumnType::Text,
            Self::Int(_) => ColumnType::Int,
            Self::Flag(_) => ColumnType::Flag,
            Self::Time(_) => ColumnType::Time,
        }
    }
}

/// A SQL statement under construction for one dialect. Values are always bound, never part of the text.
#[derive(Debug, Clone)]
pub struct SqlBuilder {
    dialect: Dialect,
    sql: String,
    args: Vec<Arg>,
}

impl SqlBuilder {
    /// Starts a statement with this SQL text.
    pub fn new(dialect: Dialect, text: impl Into<String>) -> Self {
        Self { dialect, sql: text.into(), args: Vec::new() }
    }

    /// Starts `SELECT … FROM … AS t WHERE 1 = 1` with all columns of the table.
    pub fn select(dialect: Dialect, table: &Table) -> Self {
        Self::new(dialect, table.select(dialect)).push(" WHERE 1 = 1")
    }

    /// Starts `UPDATE … SET …` with the values of the row.
    pub fn update(dialect: Dialect, table: &str, row: NewRow) -> Self {
        let mut update = Self::new(dialect, format!("UPDATE {table} SET "));
        for (index, (column, value)) in row.0.into_iter().enumerate() {
            update = update.push(if index == 0 { "" } else { ", " }).column(column).push(" = ").bind(value);
        }
        update
    }

    /// Appends SQL text. It must not contain values from callers.
    pub fn push(mut self, text: &str) -> Self {
        self.sql.push_str(text);
        self
    }

    /// Appends a column name, quoted for the dialect.
    pub fn column(self, name: &str) -> Self {
        let name = quoted(self.dialect, name);
        self.push(&name)
    }

    /// Appends the time of the database.
    pub fn now(self) -> Self {
        let now = now(self.dialect);
        self.push(now)
    }

    /// Appends the time this many seconds from now; negative: in the past.
    pub fn now_plus(self, seconds: i64) -> Self {
        let time = now_plus(self.dialect, seconds);
        self.push(&time)
    }

    /// Binds a value without a cast.
    pub(super) fn bare(mut self, value: Cell) -> Self {
        self.args.push(match value {
            Cell::Text(text) => Arg::Text(text),
            Cell::Int(number) => Arg::Int(number),
            Cell::Flag(flag) => Arg::Flag(flag),
            Cell::Time(time) => Arg::Text(time.map(|time| time.for_column(self.dialect))),
        });
        let placeholder = match self.dialect {
            Dialect::Postgres => format!("${}", self.args.len()),
            Dialect::Mysql | Dialect::Sqlite => "?".to_owned(),
        };
        self.push(&placeholder)
    }

    /// Binds a value, cast to its type where the database cannot infer it.
    fn bind(self, value: Cell) -> Self {
        let sql_type = match (self.dialect, value.column_type()) {
            (Dialect::Postgres, ColumnType::Text) => "text",
            (Dialect::Postgres, ColumnType::Int) => "bigint",
            (Dialect::Postgres, ColumnType::Flag) => "boolean",
            (Dialect::Postgres, ColumnType::Time) => "timestamptz",
            (Dialect::Mysql, ColumnType::Time) => "DATETIME(6)",
            (Dialect::Mysql | Dialect::Sqlite, _) => return self.bare(value),
        };
        self.push("CAST(").bare(value).push(&format!(" AS {sql_type})"))
    }

    /// Binds a text.
    pub fn text(self, value: &str) -> Self {
        self.bind(Cell::Text(Some(value.to_owned())))
    }

    /// Binds an integer.
    pub fn int(self, value: impl Into<i64>) -> Self {
        self.bind(Cell::Int(Some(value.into())))
    }

    /// Binds a boolean.
    pub fn flag(self, value: bool) -> Self {
        self.bind(Cell::Flag(value))
    }

    /// Binds a time with microseconds; `None` binds NULL.
    pub fn time(self, value: Option<Moment>) -> Self {
        self.bind(Cell::Time(value))
    }

    /// Binds a list for `IN`: `(?, ?, …)`. An empty list becomes `(NULL)`, which no value is in.
    pub fn in_list<T: AsRef<str>>(mut self, values: impl IntoIterator<Item = T>) -> Self {
        let mut open = "(";
        for value in values {
            self = self.push(open).text(value.as_ref());
            open = ", ";
        }
        if open == "(" { self.push("(NULL)") } else { self.push(")") }
    }

    /// Appends ` AND t.column = value`, unless the value is `None`.
    pub fn and_equals(self, column: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.push(" AND t.").column(column).push(" = ").text(value),
            None => self,
        }
    }

    /// Appends the conditions that `t.created_at` is at or after the first time and before the second.
    pub fn and_created(mut self, after: Option<Moment>, before: Option<Moment>) -> Self {
        if after.is_some() {
            self = self.push(" AND t.created_at >= ").time(after);
        }
        if before.is_some() {
            self = self.push(" AND t.created_at < ").time(before);
        }
        self
    }

    /// Appends the condition that `t.client_id` is a client of the scope.
    pub fn and_in_scope(self, scope: &Scope) -> Self {
        match scope {
            Scope::All => self,
            Scope::Only(clients) => self.push(" AND t.client_id IN ").in_list(clients),
        }
    }

    /// Returns the finished statement.
    pub fn finish(self) -> Statement {
        Statement { sql: self.sql, args: self.args }
    }
}
