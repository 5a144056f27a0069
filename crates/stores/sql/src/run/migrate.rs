//! What `migrate` would run, and how it speaks of what it could not.

use postrider_contract::Contract;
use postrider_seams::migrate::Options;
use postrider_seams::store::{Class, Error};

use crate::ddl::{self, Index};
use crate::{Dialect, Shape, own};

/// What there is of a contract's table and those around it.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// `None` where there is no such table.
    pub shape: Option<Shape>,
    pub indexes: Vec<Index>,
}

/// The statements that the contract's table lacks, in order. Indexes for who looks are of a table that is there: only then
/// is it known which columns it has.
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

/// The statements that make those of our own tables that are not `there`.
pub fn missing_own(dialect: Dialect, there: [bool; own::TABLES.len()]) -> Vec<String> {
    own::create(dialect)
        .into_iter()
        .zip(there)
        .filter(|(_, there)| !there)
        .map(|(create, _)| create)
        .collect()
}

/// What stands for a statement that existing duplicates forbid: told, and never fatal.
pub fn not_made(statement: &str) -> String {
    format!("-- not made, as the table has duplicates (`postrider check` tells of them): {statement}")
}

/// Indexes from rows of (name, partial, column), in the order of their columns; an expression has no column and ends
/// the list.
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
