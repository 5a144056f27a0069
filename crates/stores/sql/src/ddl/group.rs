//! Generated columns of ordered groups, for MySQL, which has no partial indexes.
//!
//! A virtual column holds the row's group while the row can hold back others, and is NULL otherwise, so that the index
//! on it only holds open work. Another one says of a ready row whether that is so. Adding the columns rewrites no rows.

use std::collections::BTreeSet;

use postrider_contract::{Contract, GroupRule};

use super::table_name;
use crate::claim::statements::returning;
use crate::groups::order as ordered;
use crate::render::column::Kind;
use crate::render::table::Table;
use crate::{Dialect, Error, Shape, ShapeColumn};

/// Maximum length of a group key, in characters, if the application's column has no limit.
const LONGEST: u32 = 255;

/// Returns the shape with the columns that ordered groups need; pushes the statements that add the missing ones.
pub(crate) fn added(
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
        let Some(by) = full.column(&group.by).cloned() else { continue };
        let live = ordered::live_column(contract, stage);
        let kind = ordered::kind_column(contract, stage);
        let lacks = [&live, &kind].map(|name| full.column(name).is_none());
        if lacks[0] {
            full.columns.push(ShapeColumn { name: live.clone(), sql_type: sql_type(&by), ..by.clone() });
        }
        let present: BTreeSet<String> = full.columns.iter().map(|column| column.name.clone()).collect();
        // Other missing columns are reported when the indexes are made.
        let Ok(resolved) = contract.resolve(&present) else { continue };
        let Some(stage) = resolved.stage(&stage.name) else { continue };
        let table = Table::new(&resolved, stage, dialect, &full)?;
        let mut add = |name: &str, definition: &str, value: &str| {
            statements.push(format!(
                "ALTER TABLE {} ADD COLUMN {} {definition} GENERATED ALWAYS AS ({value}) VIRTUAL",
                table_name(contract, dialect),
                dialect.quoted(name)
            ));
        };
        if lacks[0] {
            add(&live, &collated(&by), &rule(&table, group, &by));
        }
        if lacks[1] {
            let is_live = returning(&table.live_rule(group));
            let is_waiting = returning(&table.is_waiting());
            add(&kind, "TINYINT", &format!("CASE WHEN {is_live} THEN 1 WHEN {is_waiting} THEN 0 END"));
            full.columns.push(ShapeColumn::new(&kind, "TINYINT"));
        }
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

fn rule(table: &Table<'_>, group: &GroupRule, by: &ShapeColumn) -> String {
    let key = table.quote(&by.name);
    let key = if is_unbounded(by) { format!("LEFT({key}, {LONGEST})") } else { key };
    format!("CASE WHEN {} THEN {key} END", returning(&table.live_rule(group)))
}
