//! Plain statements, for tables of our own that no contract describes: accounts, events, keys.
//!
//! Owns: how a list of statements travels to a database and what comes back. Must not: know what they say. Invariant:
//! the statements of one call are one transaction, all or nothing, and run again as a whole where it collided with
//! another.

use std::pin::Pin;

use postrider_seams::row::Value;
use postrider_seams::store::Error;

use crate::Dialect;

/// One statement with the dialect's own placeholders, and the arguments for them, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub sql: String,
    pub args: Vec<Arg>,
}

/// An argument with its type. A NULL has one too: PostgreSQL keeps the types of a statement that it has prepared, and
/// reads the next argument by the type of the first.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    Text(Option<String>),
    Int(Option<i64>),
    Flag(bool),
}

impl Arg {
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => text.as_deref(),
            Self::Int(_) | Self::Flag(_) => None,
        }
    }
}

/// What a statement answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    pub rows: Vec<Vec<Value>>,
    /// Rows changed. On MySQL an upsert that changes nothing counts as well: read back what matters.
    pub changed: u64,
}

pub type Answers<'a> = Pin<Box<dyn Future<Output = Result<Vec<Answer>, Error>> + Send + 'a>>;

/// A database that runs plain statements. Object-safe, so that who writes them need not know the driver.
pub trait Plain: Send + Sync {
    fn dialect(&self) -> Dialect;

    /// Runs the statements in one transaction; one answer each. `doing` completes "could not …". Not cancel-safe: a
    /// cancelled call may have been committed.
    fn transact<'a>(&'a self, doing: &'a str, statements: &'a [Statement]) -> Answers<'a>;
}

/// Does it only read? Such a call needs no writer.
pub fn only_reads(statements: &[Statement]) -> bool {
    statements.iter().all(|statement| statement.sql.trim_start().starts_with("SELECT"))
}
