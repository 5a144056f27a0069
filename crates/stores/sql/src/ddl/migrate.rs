//! Computes the statements that `migrate` runs, and describes those that it cannot run.

use postrider_contract::Contract;
use postrider_seams::migrate::Options;
use postrider_seams::store::{Class, Error};

use crate::ddl::{self, Index};
use crate::internal;
use crate::{Dialect, Shape};

/// The existing table of a contract, its related tables and indexes.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// `None` if the table does not exist.
    pub shape: Option<Shape>,
    pub indexes: Vec<Index>,
}

/// Returns the statements that the contract's table lacks, in order.
///
/// Search indexes are only added to an existing table, because only then its columns are known.
pub fn missing(
    contract: &Contract,
    dialect: Dialect,
    found: &Found,
    options: Options,
) -> Result<Vec<String>, Error> {
    let statements = match &found.shape {
        None => ddl::create(contract, dialect),
        Some(shape) => ddl::missing(contract, shape, &found.indexes, dialect),
    };
    let mut statements = statements.map_err(|cause| {
        let text = format!("contract {} can't be migrated: {cause}", contract.name);
        Error::new(Class::Misconfigured, text).caused_by(cause)
    })?;
    if let Some(shape) = found.shape.as_ref().filter(|_| options.search) {
        statements.extend(ddl::search::statements(contract, dialect, shape));
    }
    Ok(statements)
}

/// Returns the statements that create those internal tables that are not `there`.
pub fn missing_internal(dialect: Dialect, there: [bool; internal::TABLES.len()]) -> Vec<String> {
    internal::create(dialect)
        .into_iter()
        .zip(there)
        .filter(|(_, there)| !there)
        .map(|(create, _)| create)
        .collect()
}

/// Returns the comment that replaces a statement which existing duplicates prevent; this is not an error.
pub fn not_made(statement: &str) -> String {
    format!("-- not made, as the table has duplicates (`postrider check` tells of them): {statement}")
}

/// Groups rows of (name, partial, column) into indexes, in column order; an expression has no column and ends the list.
pub fn gathered(rows: impl IntoIterator<Item = (String, bool, Option<String>)>) -> Vec<Index> {
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
