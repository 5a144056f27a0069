//! SQL builder: keeps the text of a statement and the values of its placeholders in step.

use postrider_sql::Dialect;
use postrider_sql::plain::{Arg, Statement};

use crate::Moment;
use crate::sheet::{Kind, quoted};

/// A SQL statement under construction for one dialect. Values are always bound, never part of the text.
#[derive(Debug, Clone)]
pub struct Draft {
    dialect: Dialect,
    sql: String,
    args: Vec<Arg>,
}

impl Draft {
    /// Starts a statement with this SQL text.
    pub fn new(dialect: Dialect, text: impl Into<String>) -> Self {
        Self { dialect, sql: text.into(), args: Vec::new() }
    }

    /// Appends SQL text. It must not contain values from callers.
    pub fn push(mut self, text: &str) -> Self {
        self.sql.push_str(text);
        self
    }

    /// Appends a column name, quoted for the dialect.
    pub fn name(self, name: &str) -> Self {
        let name = quoted(self.dialect, name);
        self.push(&name)
    }

    fn bind(mut self, kind: Kind, arg: Arg) -> Self {
        self.args.push(arg);
        let mark = match self.dialect {
            Dialect::Postgres => {
                let sql_type = match kind {
                    Kind::Text => "text",
                    Kind::Int => "bigint",
                    Kind::Flag => "boolean",
                    Kind::Time => "timestamptz",
                };
                format!("CAST(${} AS {sql_type})", self.args.len())
            }
            Dialect::Mysql if kind == Kind::Time => "CAST(? AS DATETIME(6))".to_owned(),
            Dialect::Mysql | Dialect::Sqlite => "?".to_owned(),
        };
        self.push(&mark)
    }

    /// Binds a text.
    pub fn text(self, value: &str) -> Self {
        self.bind(Kind::Text, Arg::Text(Some(value.to_owned())))
    }

    /// Binds a text; `None` binds NULL.
    pub fn maybe(self, value: Option<&str>) -> Self {
        self.bind(Kind::Text, Arg::Text(value.map(str::to_owned)))
    }

    /// Binds an integer.
    pub fn int(self, value: impl Into<i64>) -> Self {
        self.bind(Kind::Int, Arg::Int(Some(value.into())))
    }

    /// Binds an integer; `None` binds NULL.
    pub fn maybe_int(self, value: Option<i64>) -> Self {
        self.bind(Kind::Int, Arg::Int(value))
    }

    /// Binds a boolean.
    pub fn flag(self, value: bool) -> Self {
        self.bind(Kind::Flag, Arg::Flag(value))
    }

    /// Binds a time with microseconds; `None` binds NULL.
    pub fn time(self, value: Option<Moment>) -> Self {
        let dialect = self.dialect;
        self.bind(Kind::Time, Arg::Text(value.map(|value| value.written(dialect))))
    }

    /// Binds a list for `IN`: `(?, ?, …)`. An empty list becomes `(NULL)`, which no value is in.
    pub fn texts<'a>(mut self, values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut open = "(";
        for value in values {
            self = self.push(open).text(value);
            open = ", ";
        }
        if open == "(" { self.push("(NULL)") } else { self.push(")") }
    }

    /// Returns the finished statement.
    pub fn done(self) -> Statement {
        Statement { sql: self.sql, args: self.args }
    }
}
