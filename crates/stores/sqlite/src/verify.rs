//! Compares table and contract, and asks the planner about the claim.

use postrider_seams::inspect::Finding;
use postrider_seams::migrate::Options;
use postrider_seams::row::Value;
use postrider_seams::store::Error;
use postrider_sql::bind::Given;
use postrider_sql::run::Run as _;
use postrider_sql::run::verify::Facts;
use postrider_sql::{Dialect, Script, Step, Yields};

use crate::shape;
use crate::store::SqliteTable;

impl SqliteTable {
    pub(crate) async fn verified(&self) -> Result<Vec<Finding>, Error> {
        let version = self.database.ask("read the version", "SELECT sqlite_version()", Vec::new()).await?;
        let version = version.into_iter().flatten().flatten().next();
        let constraints = shape::constraints(&self.database, &self.opened.contract).await?;
        let facts = Facts {
            hazards: self.opened.hazards(&self.database, &constraints).await?,
            server: format!("SQLite {}", version.as_ref().and_then(Value::as_text).unwrap_or_default()),
            claim_scan: self.claim_scan().await?,
            missing: self.migration.missing(Options::default()).await?,
            duplicates: self.opened.duplicates(&self.database).await?,
            strange: self.opened.strange(&self.database).await?,
            notifies: true,
            own_tables: shape::own_tables(&self.database).await?,
        };
        Ok(self.opened.findings(Dialect::Sqlite, &facts))
    }

    /// How the claim's plan falls short, if it does. Its first step picks the rows.
    async fn claim_scan(&self) -> Result<Option<String>, Error> {
        for step in self.opened.program.claim.iter().filter_map(|claim| claim.steps.first()) {
            let sql = format!("EXPLAIN QUERY PLAN {}", step.sql);
            let script = Script { steps: vec![Step { sql, yields: Yields::Other, ..step.clone() }] };
            let given = Given::limit(&self.database.instance, 100);
            let rows = self.database.run("explain the claim", &script, &given).await?.into_rows();
            let details = rows.iter().filter_map(|row| row.last().and_then(Value::as_text));
            for detail in details {
                if detail.starts_with("SCAN") && !detail.contains("USING") {
                    return Ok(Some("a scan of the whole table".to_owned()));
                }
                if detail.contains("TEMP B-TREE FOR ORDER BY") {
                    return Ok(Some("a sort of all due rows".to_owned()));
                }
            }
        }
        self.group_scan().await
    }

    /// The same for the search for free groups; what it derives on the way is small.
    async fn group_scan(&self) -> Result<Option<String>, Error> {
        let look = self.opened.program.groups.iter().filter_map(|groups| groups.after.first());
        for step in look.flat_map(|script| &script.steps) {
            let sql = format!("EXPLAIN QUERY PLAN {}", step.sql);
            let script = Script { steps: vec![Step { sql, yields: Yields::Other, ..step.clone() }] };
            let given = Given::limit(&self.database.instance, 100);
            let rows = self.database.run("explain the search for groups", &script, &given).await?.into_rows();
            let mut details = rows.iter().filter_map(|row| row.last().and_then(Value::as_text));
            if details.any(|detail| {
                detail == "SCAN t" || detail.starts_with("SCAN t ") && !detail.contains("USING")
            }) {
                return Ok(Some("a scan of the table for each group".to_owned()));
            }
        }
        Ok(None)
    }
}
