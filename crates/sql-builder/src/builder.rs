//! SQL builder: keeps the text of a statement and the values of its placeholders in step.

use crate::Dialect;

/// A statement with the dialect's placeholders, and their arguments in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement<A> {
    pub sql: String,
    pub args: Vec<A>,
}

/// A value that a statement binds. It has a type, NULL included.
pub trait Argument {
    /// Converts a text; `None` is NULL.
    fn text(text: Option<String>) -> Self;
    /// Converts an integer; `None` is NULL.
    fn int(number: Option<i64>) -> Self;
    /// Converts a boolean.
    fn flag(flag: bool) -> Self;
    /// Returns the name of its type on PostgreSQL.
    fn postgres_type(&self) -> &'static str;
}

/// A SQL statement under construction for one dialect. Values are always bound, never part of the text.
#[derive(Debug, Clone)]
pub struct SqlBuilder<A> {
    dialect: Dialect,
    sql: String,
    args: Vec<A>,
}

impl<A> SqlBuilder<A> {
    /// Starts a statement with this SQL text.
    pub fn new(dialect: Dialect, text: impl Into<String>) -> Self {
        Self { dialect, sql: text.into(), args: Vec::new() }
    }

    /// Returns the dialect of the statement.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Appends SQL text. It must not contain values from callers.
    #[must_use]
    pub fn push(mut self, text: &str) -> Self {
        self.sql.push_str(text);
        self
    }

    /// Appends a column name, quoted for the dialect.
    #[must_use]
    pub fn column(self, name: &str) -> Self {
        let name = self.dialect.quoted(name);
        self.push(&name)
    }

    /// Binds a value without a cast, and returns its placeholder for a text that is put together later.
    ///
    /// On MySQL, which binds by position, the placeholders must stand in the text in the order of these calls.
    pub fn bind_bare(&mut self, arg: A) -> String {
        self.args.push(arg);
        self.dialect.placeholder(self.args.len())
    }

    /// Returns the finished statement.
    pub fn finish(self) -> Statement<A> {
        Statement { sql: self.sql, args: self.args }
    }

    /// Returns the statement with this text, which has the placeholders that the `bind` functions returned.
    pub fn finish_with(self, sql: String) -> Statement<A> {
        Statement { sql, args: self.args }
    }
}

impl<A: Argument> SqlBuilder<A> {
    /// Binds a value, and returns its placeholder for a text that is put together later, as [`SqlBuilder::bind_bare`]
    /// does, with a cast on PostgreSQL, which would otherwise infer the type from where the placeholder stands.
    pub fn bind(&mut self, arg: A) -> String {
        let sql_type = arg.postgres_type();
        let placeholder = self.bind_bare(arg);
        if self.dialect == Dialect::Postgres { format!("{placeholder}::{sql_type}") } else { placeholder }
    }

    /// Binds a text, and returns its placeholder, as [`SqlBuilder::bind`] does.
    pub fn bind_text(&mut self, text: impl Into<String>) -> String {
        self.bind(A::text(Some(text.into())))
    }

    /// Appends a bound value.
    #[must_use]
    pub fn value(mut self, arg: A) -> Self {
        let placeholder = self.bind(arg);
        self.push(&placeholder)
    }

    /// Appends a bound text.
    #[must_use]
    pub fn text(self, value: &str) -> Self {
        self.value(A::text(Some(value.to_owned())))
    }

    /// Appends a bound integer.
    #[must_use]
    pub fn int(self, value: impl Into<i64>) -> Self {
        self.value(A::int(Some(value.into())))
    }

    /// Appends a bound boolean.
    #[must_use]
    pub fn flag(self, value: bool) -> Self {
        self.value(A::flag(value))
    }

    /// Appends a bound time, written as the dialect's tables keep it; `None` binds NULL.
    #[must_use]
    pub fn time(mut self, value: Option<String>) -> Self {
        let placeholder = self.bind_bare(A::text(value));
        let cast = match self.dialect {
            Dialect::Postgres => format!("{placeholder}::timestamptz"),
            Dialect::Mysql => format!("CAST({placeholder} AS DATETIME(6))"),
            Dialect::Sqlite => placeholder,
        };
        self.push(&cast)
    }

    /// Appends a bound list for `IN`: `(?, ?, …)`. An empty list becomes `(NULL)`, which no value is in.
    #[must_use]
    pub fn in_list<T: AsRef<str>>(mut self, values: impl IntoIterator<Item = T>) -> Self {
        let mut open = "(";
        for value in values {
            self = self.push(open).text(value.as_ref());
            open = ", ";
        }
        if open == "(" { self.push("(NULL)") } else { self.push(")") }
    }
}

#[cfg(test)]
mod tests;
