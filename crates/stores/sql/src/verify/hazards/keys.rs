//! Checks whether keys are unique: two rows with one key would be claimed, sent and settled as one, over and over.

use postrider_seams::inspect::{Finding, Level};
use postrider_seams::store::Error;

use super::{Constraints, count, finding};
use crate::driver::Driver;
use crate::open_table::OpenTable;

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
        let repeated = count(on, "look for keys that are not unique", sql).await?;
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
                "{id} is not unique: {repeated} of its values stand in several rows, and each such row is delivered several times; \
                 name a unique column in table.id"
            );
            finding(Level::Error, text, None)
        }))
    }
}
