//! SQL builder: keeps the text of a statement and the values of its placeholders in step.
//!
//! Owns: placeholders, and the quoting of names. Must not: put a value into the text. Invariant: the placeholders of the
//! text are numbered as the arguments are listed.

use crate::Dialect;
use crate::driver::execute::{Arg, Statement};

/// A SQL statement under construction for one dialect. Values are always bound, never part of the text.
#[derive(Debug, Clone)]
pub struct Builder {
    dialect: Dialect,
    sql: String,
    args: Vec<Arg>,
}

impl Dialect {
    /// Returns the placeholder of the argument at `position`, counted from 1. On MySQL placeholders have no numbers.
    pub fn placeholder(self, position: usize) -> String {
        match self {
            Self::Postgres => format!("${position}"),
            Self::Sqlite => format!("?{position}"),
            Self::Mysql => "?".to_owned(),
        }
    }

    /// Returns a name quoted for the dialect. The name must be one of ours: it is not escaped.
    pub fn quoted(self, name: &str) -> String {
        match self {
            Self::Mysql => format!("`{name}`"),
            Self::Postgres | Self::Sqlite => format!("\"{name}\""),
        }
    }
}

impl Builder {
    /// Starts a statement with this SQL text.
    pub fn new(dialect: Dialect, text: impl Into<String>) -> Self {
        Self { dialect, sql: text.into(), args: Vec::new() }
    }

    /// Appends SQL text. It must not contain values from callers.
    #[must_use]
    pub fn push(mut self, text: &str) -> Self {
        self.sql.push_str(text);
        self
    }

    /// Appends a column name, quoted for the dialect.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        let name = self.dialect.quoted(name);
        self.push(&name)
    }

    /// Binds a value, and returns its placeholder for a text that is put together later.
    ///
    /// On MySQL, which binds by position, the placeholders must stand in the text in the order of these calls.
    pub fn bind(&mut self, arg: Arg) -> String {
        let sql_type = match &arg {
            Arg::Text(_) => "text",
            Arg::Int(_) => "bigint",
            Arg::Float(_) => "float8",
            Arg::Flag(_) => "boolean",
            Arg::Bytes(_) => "bytea",
            Arg::Texts(_) => "text[]",
            Arg::Floats(_) => "float8[]",
        };
        self.args.push(arg);
        let placeholder = self.dialect.placeholder(self.args.len());
        // PostgreSQL would guess the type from where the placeholder stands, and read the value by that.
        if self.dialect == Dialect::Postgres { format!("{placeholder}::{sql_type}") } else { placeholder }
    }

    /// Binds a text, and returns its placeholder, as [`Builder::bind`] does.
    pub fn bind_text(&mut self, text: impl Into<String>) -> String {
        self.bind(Arg::Text(Some(text.into())))
    }

    #[must_use]
    fn push_bound(mut self, arg: Arg) -> Self {
        let placeholder = self.bind(arg);
        self.push(&placeholder)
    }

    /// Appends a bound text.
    #[must_use]
    pub fn text(self, value: &str) -> Self {
        self.maybe(Some(value))
    }

    /// Appends a bound text; `None` binds NULL.
    #[must_use]
    pub fn maybe(self, value: Option<&str>) -> Self {
        self.push_bound(Arg::Text(value.map(str::to_owned)))
    }

    /// Appends a bound integer.
    #[must_use]
    pub fn int(self, value: impl Into<i64>) -> Self {
        self.maybe_int(Some(value.into()))
    }

    /// Appends a bound integer; `None` binds NULL.
    #[must_use]
    pub fn maybe_int(self, value: Option<i64>) -> Self {
        self.push_bound(Arg::Int(value))
    }

    /// Appends a bound boolean.
    #[must_use]
    pub fn flag(self, value: bool) -> Self {
        self.push_bound(Arg::Flag(value))
    }

    /// Appends a bound time, written as the dialect's tables keep it; `None` binds NULL.
    #[must_use]
    pub fn time(mut self, value: Option<String>) -> Self {
        self.args.push(Arg::Text(value));
        let placeholder = self.dialect.placeholder(self.args.len());
        let cast = match self.dialect {
            Dialect::Postgres => format!("{placeholder}::timestamptz"),
            Dialect::Mysql => format!("CAST({placeholder} AS DATETIME(6))"),
            Dialect::Sqlite => placeholder,
        };
        self.push(&cast)
    }

    /// Appends a bound list for `IN`: `(?, ?, …)`. An empty list becomes `(NULL)`, which no value is in.
    #[must_use]
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

    /// Returns the statement with this text, which has the placeholders that [`Builder::bind`] returned.
    pub fn done_with(self, sql: String) -> Statement {
        Statement { sql, args: self.args }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_follow_the_arguments_in_every_dialect() {
        let built = |dialect| {
            let list = Builder::new(dialect, "SELECT 1 FROM t WHERE ").name("a").push(" = ").text("x");
            list.push(" AND b = ").maybe_int(None).push(" AND c IN ").texts(["y", "z"]).done()
        };
        let args = [
            Arg::Text(Some("x".into())),
            Arg::Int(None),
            Arg::Text(Some("y".into())),
            Arg::Text(Some("z".into())),
        ];
        for (dialect, sql) in [
            (
                Dialect::Postgres,
                "SELECT 1 FROM t WHERE \"a\" = $1::text AND b = $2::bigint AND c IN ($3::text, \
                 $4::text)",
            ),
            (Dialect::Mysql, "SELECT 1 FROM t WHERE `a` = ? AND b = ? AND c IN (?, ?)"),
            (Dialect::Sqlite, "SELECT 1 FROM t WHERE \"a\" = ?1 AND b = ?2 AND c IN (?3, ?4)"),
        ] {
            assert_eq!(built(dialect), Statement { sql: sql.to_owned(), args: args.to_vec() });
        }
    }

    #[test]
    fn an_empty_list_has_no_member() {
        assert_eq!(Builder::new(Dialect::Mysql, "a IN ").texts([]).done().sql, "a IN (NULL)");
    }
}
