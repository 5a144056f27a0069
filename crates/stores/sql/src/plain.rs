//! Executes plain SQL statements on tables that no contract describes: accounts, events, keys.
//!
//! Owns: the types of statements, arguments and answers. Must not: know what the statements mean. Invariant: the
//! statements of one call are one transaction, all or nothing, which is retried as a whole after a deadlock or
//! serialization failure.

use std::pin::Pin;

use postrider_seams::row::Value;
use postrider_seams::store::Error;

use crate::Dialect;

/// A statement with the dialect's placeholders, and their arguments in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub sql: String,
    pub args: Vec<Arg>,
}

/// An argument with its type.
///
/// A NULL has a type too: PostgreSQL keeps the types of a prepared statement, and reads the next argument by the type
/// of the first.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    Text(Option<String>),
    Int(Option<i64>),
    Flag(bool),
}

impl Arg {
    /// Returns the text; `None` for NULL and for other types.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => text.as_deref(),
            Self::Int(_) | Self::Flag(_) => None,
        }
    }
}

/// The result of one statement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    pub rows: Vec<Vec<Value>>,
    /// Number of rows changed. On MySQL an upsert that changes nothing counts as well: read the row back if it matters.
    pub changed: u64,
}

/// The future that [`Plain::transact`] returns: one answer per statement.
pub type Answers<'a> = Pin<Box<dyn Future<Output = Result<Vec<Answer>, Error>> + Send + 'a>>;

/// A database that executes plain statements. Object-safe, so that callers need not know the driver.
pub trait Plain: Send + Sync {
    fn dialect(&self) -> Dialect;

    /// Runs the statements in one transaction, and returns one answer each.
    ///
    /// `doing` completes "could not …" in error messages. Not cancel-safe: a cancelled call may have been committed.
    fn transact<'a>(&'a self, doing: &'a str, statements: &'a [Statement]) -> Answers<'a>;
}

/// Whether the statements only read; such a call needs no connection that can write.
pub fn only_reads(statements: &[Statement]) -> bool {
    statements.iter().all(|statement| statement.sql.trim_start().starts_with("SELECT"))
}
