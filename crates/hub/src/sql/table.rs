//! Table definitions: which columns are selected, and how a row is read.

use postrider_seams::row::Value;
use serde::de::DeserializeOwned;

use super::Dialect;
use super::dialect::time_text;
use crate::Moment;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    Text,
    Int,
    Flag,
    Time,
}

/// The name and type of a column.
pub type Column = (&'static str, ColumnType);

/// A list of columns: `columns![id, sequence: Int]`. A column without a type is a text.
macro_rules! columns {
    (@) => { $crate::sql::ColumnType::Text };
    (@ $kind:ident) => { $crate::sql::ColumnType::$kind };
    ($($name:ident $(: $kind:ident)?),* $(,)?) => { &[$((stringify!($name), columns!(@ $($kind)?))),*] };
}
pub(crate) use columns;

/// A table of the hub with its columns, in the order in which they are selected and read.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    pub name: &'static str,
    pub columns: &'static [Column],
}

impl Table {
    /// Returns the columns of a SELECT in the order in which [`RowReader`] reads them, for an alias of the table.
    pub fn select_list(&self, dialect: Dialect, alias: &str) -> String {
        let column = |(name, kind): &Column| {
            let column = format!("{alias}.{}", dialect.quoted(name));
            if *kind == ColumnType::Time { time_text(dialect, &column) } else { column }
        };
        self.columns.iter().map(column).collect::<Vec<_>>().join(", ")
    }

    /// Returns the same columns for the RETURNING of an INSERT, which needs no alias.
    pub fn returning_list(&self, dialect: Dialect) -> String {
        let column = |(name, kind): &Column| {
            let column = dialect.quoted(name);
            if *kind == ColumnType::Time { time_text(dialect, &column) } else { column }
        };
        self.columns.iter().map(column).collect::<Vec<_>>().join(", ")
    }

    /// Returns `SELECT … FROM … AS t` with all columns of the table.
    pub fn select(&self, dialect: Dialect) -> String {
        format!("SELECT {} FROM {} AS t", self.select_list(dialect, "t"), self.name)
    }
}

/// Reads the columns of a selected row in order.
pub struct RowReader(std::vec::IntoIter<Value>);

impl RowReader {
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
    pub fn required_text(&mut self) -> String {
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

    /// Reads an integer that is never NULL; 0 if it is unreadable.
    pub fn required_int(&mut self) -> i64 {
        self.int().unwrap_or_default()
    }

    /// Reads a boolean; false if it is NULL.
    pub fn flag(&mut self) -> bool {
        self.int().is_some_and(|number| number != 0)
    }

    /// Reads a time; `None` if it is NULL or not readable as a time.
    pub fn time(&mut self) -> Option<Moment> {
        self.text().and_then(|text| Moment::from_database(&text))
    }

    /// Reads the name of an enum value; `None` if it is NULL, `unknown` if no value has this name.
    pub fn name_or<T: DeserializeOwned>(&mut self, unknown: T) -> Option<T> {
        self.text().map(|name| crate::job::parse_enum(&name).unwrap_or(unknown))
    }

    /// Reads the name of an enum value that is never NULL; `unknown` if no value has this name.
    pub fn required_name_or<T: DeserializeOwned>(&mut self, unknown: T) -> T {
        crate::job::parse_enum(&self.required_text()).unwrap_or(unknown)
    }

    /// Reads a JSON column; NULL gives the default. Sets `readable` to false if the text does not have the expected
    /// form.
    pub fn json_checked<T: DeserializeOwned + Default>(&mut self, readable: &mut bool) -> T {
        let Some(text) = self.text() else { return T::default() };
        serde_json::from_str(&text).unwrap_or_else(|_| {
            *readable = false;
            T::default()
        })
    }

    /// Reads a JSON column that is only shown; NULL and unreadable text give the default.
    pub fn json<T: DeserializeOwned + Default>(&mut self) -> T {
        self.json_checked(&mut true)
    }
}
