//! Renders DDL: the tables of the built-in contracts, a generic table for other contracts, and what an existing table
//! lacks.
//!
//! Must not: drop, rewrite or narrow anything. It only adds.

pub mod former;
mod group;
mod index;
pub mod migrate;
mod needed;
mod notify;
mod reference;
pub mod search;
mod share;
mod types;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use postrider_contract::{Column, ColumnRole, Contract};

use crate::render::ident;
use crate::{Dialect, Error, Shape, ShapeColumn};

pub use index::Index;
pub(crate) use index::index_key;
pub use notify::{channel, notify};

/// Returns the shape of the table that `create` makes for a built-in contract; `None` for any other contract.
pub fn reference_shape(contract: &Contract, dialect: Dialect) -> Option<Shape> {
    let shape = reference::shape(contract, dialect)?;
    added(contract, dialect, shape, &mut Vec::new()).ok()
}

/// Returns the statements that create the contract's table, its related tables and its indexes.
pub fn create(contract: &Contract, dialect: Dialect) -> Result<Vec<String>, Error> {
    check_names(contract)?;
    let shape = match reference::shape(contract, dialect) {
        Some(shape) if fits(contract, &shape) => shape,
        _ => return create_plain(contract, dialect),
    };
    let mut statements = reference::statements(contract, dialect);
    let shape = added(contract, dialect, shape, &mut statements)?;
    let own = reference::indexes(contract, dialect);
    let needed = needed::needed(contract, dialect, &shape)?.into_iter();
    let lacking = needed.filter(|needed| !own.iter().any(|index| index.serves(&needed.index)));
    statements.extend(lacking.map(|index| index.create));
    Ok(statements)
}

fn create_plain(contract: &Contract, dialect: Dialect) -> Result<Vec<String>, Error> {
    let shape = Shape { columns: types::columns(contract, dialect), ..Shape::default() };
    let lines: Vec<String> = shape
        .columns
        .iter()
        .map(|column| {
            let name = dialect.quoted(&column.name);
            format!("    {name} {}", types::definition(contract, dialect, &column.name))
        })
        .collect();
    let create = format!(
        "CREATE TABLE IF NOT EXISTS {} (\n{}\n){}",
        table_name(contract, dialect),
        lines.join(",\n"),
        types::options(dialect)
    );
    let mut statements = vec![create];
    let shape = added(contract, dialect, shape, &mut statements)?;
    statements.extend(needed::needed(contract, dialect, &shape)?.into_iter().map(|index| index.create));
    Ok(statements)
}

/// Returns the statements that add what an existing table lacks: columns, tables of effects and joins, indexes.
///
/// Only columns that Postrider may add are added. `existing` are the table's indexes; an index that starts with the
/// needed columns suffices.
pub fn missing(
    contract: &Contract,
    shape: &Shape,
    existing: &[Index],
    dialect: Dialect,
) -> Result<Vec<String>, Error> {
    check_names(contract)?;
    let mut full = shape.clone();
    let mut statements = Vec::new();
    for name in addable(contract) {
        if full.column(&name).is_none() {
            if let Some(there) = shape.namesake(&name) {
                return Err(Error::Folded { column: name, there: there.to_owned() });
            }
            let definition = types::addition(contract, dialect, &name);
            let (table, column) = (table_name(contract, dialect), dialect.quoted(&name));
            statements.push(format!("ALTER TABLE {table} ADD COLUMN {column} {definition}"));
            full.columns.push(ShapeColumn::new(name.clone(), types::of(contract, dialect, &name)));
        }
    }
    for table in contract.related_tables() {
        if !shape.related.contains_key(table) {
            statements.extend(reference::statements_of(contract, dialect, table));
        }
    }
    let full = added(contract, dialect, full, &mut statements)?;
    let needed = needed::needed(contract, dialect, &full)?.into_iter();
    let lacking = needed.filter(|needed| !existing.iter().any(|known| known.serves(&needed.index)));
    statements.extend(lacking.map(|needed| needed.create));
    statements.dedup();
    Ok(statements)
}

/// The shape with the columns that groups and shares need; pushes the statements that add the missing ones.
fn added(
    contract: &Contract,
    dialect: Dialect,
    shape: Shape,
    statements: &mut Vec<String>,
) -> Result<Shape, Error> {
    let shape = group::added(contract, dialect, shape, statements)?;
    share::added(contract, dialect, shape, statements)
}

/// Returns the table's name, quoted, with its schema.
pub(crate) fn table_name(contract: &Contract, dialect: Dialect) -> String {
    let name = dialect.quoted(&contract.table.name);
    match &contract.table.schema {
        Some(schema) => format!("{}.{name}", dialect.quoted(schema)),
        None => name,
    }
}

/// Whether `migrate` would add the column.
pub(crate) fn is_addable(contract: &Contract, name: &str) -> bool {
    addable(contract).contains(name)
}

/// The columns that Postrider may add: those with a role and those that its moves write. The columns that a composer
/// reads belong to the application.
fn addable(contract: &Contract) -> BTreeSet<String> {
    let roles = contract.columns.0.iter().filter(|(role, _)| **role != ColumnRole::Status);
    let roles = roles.map(|(_, column)| column.name.clone());
    let written = contract.writes.iter().map(|write| write.column.name.clone());
    let swept =
        contract.sweeps.iter().flat_map(|sweep| sweep.writes.iter().map(|(column, _)| column.name.clone()));
    roles.chain(written).chain(swept).collect()
}

/// Returns every column that the contract names, including optional ones.
pub(crate) fn known_columns(contract: &Contract) -> Vec<String> {
    let mut names = vec![contract.table.id.clone()];
    let mut add = |name: &String| {
        if !names.contains(name) {
            names.push(name.clone());
        }
    };
    for role in ColumnRole::ALL {
        if let Some(Column { name, .. }) = contract.columns.0.get(&role) {
            add(name);
        }
    }
    for state in &contract.states {
        state.conditions.iter().for_each(|(column, _)| add(column));
    }
    contract.claim.filter.iter().for_each(|(column, _)| add(column));
    contract.claim.fair.iter().for_each(|fair| add(&fair.name));
    let order = contract.claim.order.iter().filter_map(|order| contract.order_column(order));
    order.for_each(|column| add(&column.to_owned()));
    contract.message_columns().iter().for_each(|(_, column)| add(column));
    if let Some(group) = &contract.group {
        add(&group.by);
        group.sequence.iter().for_each(&mut add);
    }
    contract.stages.iter().filter_map(|stage| stage.retry_rule.column.as_ref()).for_each(&mut add);
    addable(contract).iter().for_each(&mut add);
    names
}

fn check_names(contract: &Contract) -> Result<(), Error> {
    let own = contract.table.schema.iter().chain([&contract.table.name]);
    own.chain(&known_columns(contract)).try_for_each(|name| ident::check(name))
}

/// Whether the reference table has every column that the contract names; a lane may have renamed some.
fn fits(contract: &Contract, shape: &Shape) -> bool {
    known_columns(contract).iter().all(|name| shape.column(name).is_some())
}
