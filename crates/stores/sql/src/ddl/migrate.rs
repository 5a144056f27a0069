//! Creates a contract's table, or adds what an existing table lacks: computes the statements, and describes those that
//! cannot run.

use async_trait::async_trait;
use postrider_contract::{Columns, Contract};
use postrider_seams::migrate::{Migrate, MigrateOptions};
use postrider_seams::store::{Class, Error};

use crate::ddl::former::{self, FormerIndex};
use crate::ddl::{self, Index};
use crate::driver::Driver;
use crate::internal;
use crate::verify::hazards::Constraints;
use crate::{Dialect, Shape};

/// The existing table of a contract, its related tables and indexes.
#[derive(Debug, Clone, Default)]
pub struct ExistingTable {
    /// `None` if the table does not exist.
    pub shape: Option<Shape>,
    pub indexes: Vec<Index>,
}

/// A database whose tables can be created and completed.
pub trait Alter: Driver {
    /// Reads the contract's table.
    fn found(&self, contract: &Contract) -> impl Future<Output = Result<ExistingTable, Error>> + Send;

    /// Reads the constraints of the contract's table, and of those that its effects write to.
    fn constraints(&self, contract: &Contract) -> impl Future<Output = Result<Constraints, Error>> + Send;

    /// Returns which of the internal tables exist.
    fn internal_tables(&self) -> impl Future<Output = Result<[bool; internal::TABLES.len()], Error>> + Send;

    /// Returns the statements for internal tables that an earlier version created with other columns.
    fn outdated_internal(&self) -> impl Future<Output = Result<Vec<String>, Error>> + Send {
        async { Ok(Vec::new()) }
    }

    /// Returns the statements for a missing notification trigger. Databases without notifications have none.
    fn missing_trigger(&self, _: &Contract) -> impl Future<Output = Result<Vec<String>, Error>> + Send {
        async { Ok(Vec::new()) }
    }

    /// Runs the statements without a time limit, because an index on a large table takes longer than other calls may,
    /// and returns those that ran. What another process has created in the meantime is not an error.
    fn alter(&self, statements: Vec<String>) -> impl Future<Output = Result<Vec<String>, Error>> + Send;
}

/// The migration of one contract's table, which may not exist yet.
pub struct Migration<D> {
    database: D,
    contract: Contract,
}

impl<D: Alter> Migration<D> {
    /// Creates the migration of the contract's table on this database.
    pub fn new(database: D, contract: Contract) -> Self {
        Self { database, contract }
    }

    /// Returns the columns that the contract names, whether or not the table has them.
    pub fn declared(&self) -> Columns {
        self.contract.columns.clone()
    }

    /// Returns the statements for what `verify` reports as missing, without missing internal tables and the trigger.
    pub async fn missing(&self, options: MigrateOptions) -> Result<Vec<String>, Error> {
        let found = self.database.found(&self.contract).await?;
        let mut statements = missing(&self.contract, D::DIALECT, &found, options)?;
        statements.extend(self.database.outdated_internal().await?);
        Ok(statements)
    }

    /// Returns the indexes that an earlier version created and the contract no longer needs.
    pub async fn unneeded(&self) -> Result<Vec<FormerIndex>, Error> {
        let found = self.database.found(&self.contract).await?;
        let Some(shape) = &found.shape else { return Ok(Vec::new()) };
        let former = former::unneeded(&self.contract, shape, &found.indexes, D::DIALECT);
        former.map_err(|cause| not_migrated(&self.contract, cause))
    }
}

#[async_trait]
impl<D: Alter> Migrate for Migration<D> {
    async fn plan(&self, options: MigrateOptions) -> Result<Vec<String>, Error> {
        self.database.reach().await?;
        let mut statements = self.missing(options).await?;
        statements.extend(missing_internal(D::DIALECT, self.database.internal_tables().await?));
        if options.notify {
            statements.extend(self.database.missing_trigger(&self.contract).await?);
        }
        Ok(statements)
    }

    async fn apply(&self, options: MigrateOptions) -> Result<Vec<String>, Error> {
        let statements = self.plan(options).await?;
        if statements.is_empty() {
            return Ok(statements);
        }
        self.database.alter(statements).await
    }
}

/// Returns the statements that the contract's table lacks, in order.
///
/// Search indexes are only added to an existing table, because only then its columns are known.
fn missing(
    contract: &Contract,
    dialect: Dialect,
    found: &ExistingTable,
    options: MigrateOptions,
) -> Result<Vec<String>, Error> {
    let statements = match &found.shape {
        None => ddl::create(contract, dialect),
        Some(shape) => ddl::missing(contract, shape, &found.indexes, dialect),
    };
    let mut statements = statements.map_err(|cause| not_migrated(contract, cause))?;
    if let Some(shape) = found.shape.as_ref().filter(|_| options.search) {
        statements.extend(ddl::search::statements(contract, dialect, shape));
    }
    Ok(statements)
}

fn not_migrated(contract: &Contract, cause: crate::Error) -> Error {
    let text = format!("contract {} can't be migrated: {cause}", contract.name);
    Error::new(Class::Misconfigured, text).caused_by(cause)
}

/// Returns the statements that create those internal tables that are not `there`.
fn missing_internal(dialect: Dialect, there: [bool; internal::TABLES.len()]) -> Vec<String> {
    internal::create(dialect)
        .into_iter()
        .zip(there)
        .filter(|(_, there)| !there)
        .map(|(create, _)| create)
        .collect()
}

/// Returns the comment that replaces a statement which existing duplicates prevent; this is not an error.
pub fn not_made(statement: &str) -> String {
    format!("-- not created: the table has duplicates, which `postrider check` lists: {statement}")
}

/// Groups rows of (name, partial, column) into indexes, in column order; an expression has no column and ends the list.
pub fn indexes_from_rows(rows: impl IntoIterator<Item = (String, bool, Option<String>)>) -> Vec<Index> {
    let mut indexes: Vec<Index> = Vec::new();
    let mut ended = false;
    for (name, partial, column) in rows {
        if indexes.last().is_none_or(|index| index.name != name) {
            indexes.push(Index { name, partial, columns: Vec::new() });
            ended = false;
        }
        ended |= column.is_none();
        let columns = indexes.last_mut().map(|index| &mut index.columns).filter(|_| !ended);
        if let (Some(columns), Some(column)) = (columns, column) {
            columns.push(column);
        }
    }
    indexes
}
