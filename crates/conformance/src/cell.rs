//! A row as the harness sees it: the same on every database.

use std::collections::BTreeMap;

/// Column → what it holds.
pub type Row = BTreeMap<String, Cell>;

/// One column of one row. Times are microseconds since 1970, whatever the database keeps.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    Int(i64),
    Text(String),
    Time(i64),
    /// To write text that is not valid UTF-8, where a database takes it.
    Bytes(Vec<u8>),
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(*int),
            _ => None,
        }
    }

    pub fn as_time(&self) -> Option<i64> {
        match self {
            Self::Time(micros) => Some(*micros),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn is_null(&self) -> bool {
        *self == Self::Null
    }
}
