//! Checks whether every row has a key of its own: two rows with one key would be claimed, sent and settled as one, over
//! and over, and no statement can name a row without a key.

use postrider_seams::inspect::{COUNT_LIMIT, Finding, Level};
use postrider_seams::store::Error;

use super::{Constraints, count, finding};
use crate::driver::Driver;
use crate::open_table::OpenTable;
use crate::render::table::Table;

impl OpenTable {
    pub(crate) async fn key_finding(
        &self,
        on: &impl Driver,
        constraints: &Constraints,
    ) -> Result<Option<Finding>, Error> {
        let id = &self.contract.table.id;
        if constraints.unique.iter().any(|columns| columns.as_slice() == [id.clone()]) {
            return Ok(None);
        }
        let table = self.table(on.dialect());
        let (name, column) = (table.name(), table.quote(id));
        let newest = self.newest(&table, &[id]);
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT n.{column} FROM ({newest}) AS n GROUP BY n.{column} HAVING COUNT(*) > 1) AS d"
        );
        let repeated = count(on, "find keys that are not unique", sql).await?;
        let fix = Some(format!("ALTER TABLE {name} ADD UNIQUE ({column})"))
            .map(|alter| match on.dialect() {
                crate::Dialect::Sqlite => {
                    format!("CREATE UNIQUE INDEX \"{}_key\" ON {name} ({column})", self.contract.table.name)
                }
                _ => alter,
            })
            .filter(|_| repeated == 0);
        Ok(Some(if repeated == 0 {
            let text = format!(
                "no primary key or unique index keeps {id} unique: rows with the same {id} would be delivered several times"
            );
            finding(Level::Warning, text, fix)
        } else {
            let text = format!(
                "{id} is not unique: {repeated} of its values occur in several rows, and each such row is delivered several times; \
                 name a unique column in table.id"
            );
            finding(Level::Error, text, None)
        }))
    }

    /// Counts the rows without a key, where the table allows them.
    pub(crate) async fn missing_key_finding(
        &self,
        on: &impl Driver,
        table: &Table<'_>,
    ) -> Result<Option<Finding>, Error> {
        let id = &self.contract.table.id;
        if table.has_key().is_none() {
            return Ok(None);
        }
        let (from, column) = (table.name(), table.col(id));
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT 1 AS n FROM {from} AS t WHERE {column} IS NULL LIMIT {COUNT_LIMIT}) AS n"
        );
        let rows = count(on, "count rows without a key", sql).await?;
        if rows == 0 {
            return Ok(None);
        }
        let quoted = table.quote(id);
        let text = format!(
            "no lane handles {rows} rows, as their {id} is NULL; give each a {id} of its own (UPDATE {from} SET {quoted} = … WHERE \
             {quoted} IS NULL), and declare {id} NOT NULL"
        );
        Ok(Some(finding(Level::Error, text, None)))
    }
}
