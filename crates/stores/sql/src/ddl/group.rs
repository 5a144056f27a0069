//! MySQL has no partial index: a virtual column holds a row's group while the row can hold back others, and is NULL
//! otherwise, so that the index on it stays as small as the work that is open. Adding it rewrites nothing.

use std::collections::BTreeSet;

use postrider_contract::{Contract, Group};

use super::table_name;
use crate::claim::returning;
use crate::column::Kind;
use crate::table::Table;
use crate::{Dialect, Error, Shape, ShapeColumn, ident, ordered};

/// The longest key that is told apart where the application's column has no bound.
const LONGEST: u32 = 255;

/// The shape with the columns that ordered groups need; the statements that add those which are not there.
pub(super) fn added(
    contract: &Contract,
    dialect: Dialect,
    shape: Shape,
    statements: &mut Vec<String>,
) -> Result<Shape, Error> {
    let Some(group) = contract.group.as_ref().filter(|group| group.keeps_order()) else { return Ok(shape) };
    if dialect != Dialect::Mysql {
        return Ok(shape);
    }
    let mut full = shape;
    for stage in &contract.stages {
        let name = ordered::live_column(contract, stage);
        if full.column(&name).is_some() {
            continue;
        }
        let Some(by) = full.column(&group.by).cloned() else { continue };
        full.columns.push(ShapeColumn { name: name.clone(), sql_type: sql_type(&by), ..by.clone() });
        let present: BTreeSet<String> = full.columns.iter().map(|column| column.name.clone()).collect();
        // What the contract lacks besides is told when its indexes are made.
        let Ok(resolved) = contract.resolve(&present) else { continue };
        let Some(stage) = resolved.stage(&stage.name) else { continue };
        let table = Table::new(&resolved, stage, dialect, &full)?;
        statements.push(format!(
            "ALTER TABLE {} ADD COLUMN {} {} GENERATED ALWAYS AS ({}) VIRTUAL",
            table_name(contract, dialect),
            ident::quote(dialect, &name),
            collated(&by),
            rule(&table, group, &by)
        ));
    }
    Ok(full)
}

fn is_unbounded(by: &ShapeColumn) -> bool {
    Kind::of(&by.sql_type) == Kind::Text && by.sql_type.to_ascii_lowercase().contains("text")
}

fn sql_type(by: &ShapeColumn) -> String {
    if is_unbounded(by) { format!("VARCHAR({LONGEST})") } else { by.sql_type.clone() }
}

fn collated(by: &ShapeColumn) -> String {
    let collation = by.collation.as_ref().map(|collation| format!(" COLLATE {collation}"));
    format!("{}{}", sql_type(by), collation.unwrap_or_default())
}

fn rule(table: &Table<'_>, group: &Group, by: &ShapeColumn) -> String {
    let key = table.quote(&by.name);
    let key = if is_unbounded(by) { format!("LEFT({key}, {LONGEST})") } else { key };
    format!("CASE WHEN {} THEN {key} END", returning(&table.live_rule(group)))
}
