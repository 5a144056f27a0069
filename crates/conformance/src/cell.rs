//! Values and rows as the harness reads them, the same for every database.

use std::collections::BTreeMap;

/// Column name → value.
pub type Row = BTreeMap<String, Cell>;

/// One column of one row. Times are microseconds since 1970, whatever the database stores.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    Int(i64),
    Text(String),
    Time(i64),
    /// Text that is not valid UTF-8, to be written to a database that accepts it.
    Bytes(Vec<u8>),
}

impl Cell {
    /// Creates a text value.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Returns the number; `None` for any other kind of value.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(*int),
            _ => None,
        }
    }

    /// Returns the time in microseconds since 1970; `None` for any other kind of value.
    pub fn as_time(&self) -> Option<i64> {
        match self {
            Self::Time(micros) => Some(*micros),
            _ => None,
        }
    }

    /// Returns the text; `None` for any other kind of value.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether the value is NULL.
    pub fn is_null(&self) -> bool {
        *self == Self::Null
    }
}
