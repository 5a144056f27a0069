//! Generated columns of shares, for MySQL: MySQL and MariaDB have no common syntax for an index on an expression.
//!
//! A virtual column holds the share of a ready row, and is NULL otherwise. Adding it rewrites no rows.

use std::collections::BTreeSet;

use postrider_contract::Contract;

use super::table_name;
use crate::claim::statements::returning;
use crate::pools::statements as share;
use crate::render::table::Table;
use crate::{Dialect, Error, Shape, ShapeColumn};

/// Maximum length of a share key, in characters.
const LONGEST: u32 = 255;

/// Returns the shape with the columns that shares need; pushes the statements that add the missing ones.
pub(crate) fn added(
    contract: &Contract,
    dialect: Dialect,
    shape: Shape,
    statements: &mut Vec<String>,
) -> Result<Shape, Error> {
    let mut full = shape;
    if dialect != Dialect::Mysql {
        return Ok(full);
    }
    for stage in &contract.stages {
        let name = share::share_column(contract, stage);
        if full.column(&name).is_some() {
            continue;
        }
        let present: BTreeSet<String> = full.columns.iter().map(|column| column.name.clone()).collect();
        // Other missing columns are reported when the indexes are made.
        let Ok(resolved) = contract.resolve(&present) else { continue };
        if !resolved.limits_claims() {
            continue;
        }
        let Some(stage) = resolved.stage(&stage.name) else { continue };
        let collation = "utf8mb4_bin";
        full.columns.push(ShapeColumn {
            collation: Some(collation.to_owned()),
            ..ShapeColumn::new(&name, format!("VARCHAR({LONGEST})"))
        });
        let table = Table::new(&resolved, stage, dialect, &full)?;
        statements.push(format!(
            "ALTER TABLE {} ADD COLUMN {} VARCHAR({LONGEST}) CHARACTER SET utf8mb4 COLLATE {collation} GENERATED ALWAYS AS \
             (CASE WHEN {} THEN LEFT({}, {LONGEST}) END) VIRTUAL",
            table_name(contract, dialect),
            dialect.quoted(&name),
            returning(&table.is_waiting()),
            returning(&table.share_rule())
        ));
    }
    Ok(full)
}
