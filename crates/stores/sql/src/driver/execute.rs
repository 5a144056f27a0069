//! Executes SQL statements whose arguments are known: those on internal tables, and those of the hub.
//!
//! Owns: the types of statements, arguments and answers. Must not: know what the statements mean. Invariant: the
//! statements of one call are one transaction, all or nothing, which is retried as a whole after a deadlock or
//! serialization failure.

use std::borrow::Cow;
use std::pin::Pin;

use postrider_seams::row::RowId;
use postrider_seams::store::Error;
use postrider_sql_builder::Argument;

use super::errors::DriverErrors as _;
use super::{Access, Driver, Retry, Work, attempt, call};
use crate::typed::Row;
use crate::{Dialect, bind};

/// A statement that a [`Driver`] executes.
pub type Statement = postrider_sql_builder::Statement<Arg>;

/// A builder of such statements.
pub type SqlBuilder = postrider_sql_builder::SqlBuilder<Arg>;

/// An argument with its type.
///
/// A NULL has a type too: PostgreSQL keeps the types of a prepared statement, and reads the next argument by the type
/// of the first.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    Text(Option<String>),
    Int(Option<i64>),
    Float(Option<f64>),
    Flag(bool),
    Bytes(Vec<u8>),
    /// PostgreSQL only: an array.
    Texts(Vec<Option<String>>),
    /// PostgreSQL only: an array.
    Floats(Vec<Option<f64>>),
}

impl Arg {
    /// Returns the text; `None` for NULL and for other types.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => text.as_deref(),
            Self::Int(_)
            | Self::Float(_)
            | Self::Flag(_)
            | Self::Bytes(_)
            | Self::Texts(_)
            | Self::Floats(_) => None,
        }
    }
}

impl Argument for Arg {
    fn text(text: Option<String>) -> Self {
        Self::Text(text)
    }

    fn int(number: Option<i64>) -> Self {
        Self::Int(number)
    }

    fn flag(flag: bool) -> Self {
        Self::Flag(flag)
    }

    fn postgres_type(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Int(_) => "bigint",
            Self::Float(_) => "float8",
            Self::Flag(_) => "boolean",
            Self::Bytes(_) => "bytea",
            Self::Texts(_) => "text[]",
            Self::Floats(_) => "float8[]",
        }
    }
}

impl From<&RowId> for Arg {
    fn from(id: &RowId) -> Self {
        match id {
            RowId::Int(id) => Self::Int(Some(*id)),
            RowId::Text(id) => Self::Text(Some(id.to_string())),
        }
    }
}

/// The result of one statement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    pub rows: Vec<Row>,
    /// Number of rows changed. On MySQL an upsert that changes nothing counts as well: read the row back if it matters.
    pub changed: u64,
}

/// The future that [`Execute::transact`] returns: one answer per statement.
pub type Answers<'a> = Pin<Box<dyn Future<Output = Result<Vec<Answer>, Error>> + Send + 'a>>;

/// A database that executes statements. Object-safe, so that callers need not know the driver; every [`Driver`] is one.
pub trait Execute: Send + Sync {
    /// Returns the SQL dialect of the database.
    fn dialect(&self) -> Dialect;

    /// Runs the statements in one transaction, and returns one answer each.
    ///
    /// `doing` completes "could not …" in error messages. Not cancel-safe: a cancelled call may have been committed.
    fn transact<'a>(&'a self, doing: &'a str, statements: &'a [Statement]) -> Answers<'a>;

    /// Wakes the lanes of this process on this table. To be called after the commit that made rows ready.
    fn wake(&self, table: &str);
}

impl<D: Driver> Execute for D {
    fn dialect(&self) -> Dialect {
        D::DIALECT
    }

    fn transact<'a>(&'a self, doing: &'a str, statements: &'a [Statement]) -> Answers<'a> {
        Box::pin(async move {
            self.reach().await?;
            call(&self.with_long_deadline(), doing, &Batch { statements, access: access(statements) }).await
        })
    }

    fn wake(&self, table: &str) {
        self.wake_ups().wake(table);
    }
}

/// The statements of one transaction.
struct Batch<'a> {
    statements: &'a [Statement],
    access: Access,
}

impl Work for Batch<'_> {
    type Output = Vec<Answer>;

    fn access(&self) -> Access {
        self.access
    }

    fn is_single(&self) -> bool {
        self.statements.len() == 1
    }

    async fn run<D: Driver>(
        &self,
        driver: &D,
        connection: &mut D::Connection,
    ) -> Result<Vec<Answer>, D::Error> {
        let mut answers = Vec::with_capacity(self.statements.len());
        for statement in self.statements {
            answers.push(driver.execute(connection, &without_nul(statement)).await?);
        }
        Ok(answers)
    }
}

/// Runs one statement, and returns its rows.
pub(super) async fn rows<D: Driver>(
    driver: &D,
    doing: &str,
    access: Access,
    statement: Statement,
) -> Result<Vec<Row>, Error> {
    let work = Batch { statements: &[statement], access };
    Ok(call(driver, doing, &work).await?.pop().unwrap_or_default().rows)
}

/// Runs one statement on the internal tables; returns `None` if the table does not exist.
pub(super) async fn internal<D: Driver>(
    driver: &D,
    doing: &str,
    access: Access,
    statement: Statement,
) -> Result<Option<Vec<Row>>, Error> {
    let work = Batch { statements: &[statement], access };
    let mut retry = Retry::new(driver, doing);
    loop {
        match attempt(driver, &work).await {
            Ok(mut answers) => return Ok(answers.pop().map(|answer| answer.rows)),
            Err(cause) if D::Errors::is_missing_table(&cause) => return Ok(None),
            Err(cause) => retry.wait(cause).await?,
        }
    }
}

fn access(statements: &[Statement]) -> Access {
    let reads = statements.iter().all(|statement| statement.sql.trim_start().starts_with("SELECT"));
    if reads { Access::Read } else { Access::Write }
}

/// Replaces NUL characters in texts, which not every database stores.
fn without_nul(statement: &Statement) -> Cow<'_, Statement> {
    let has_nul = |arg: &Arg| arg.as_text().is_some_and(|text| text.contains('\0'));
    if !statement.args.iter().any(has_nul) {
        return Cow::Borrowed(statement);
    }
    let mut statement = statement.clone();
    for arg in &mut statement.args {
        if let Arg::Text(Some(text)) = arg {
            *text = bind::without_nul(std::mem::take(text));
        }
    }
    Cow::Owned(statement)
}
