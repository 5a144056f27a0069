//! Compares the table with its contract, and checks the query plan of the claim.

use postrider_seams::inspect::Finding;
use postrider_seams::migrate::MigrateOptions;
use postrider_seams::row::Value;
use postrider_seams::store::Error;
use postrider_sql::Dialect;
use postrider_sql::driver::execute::{Arg, Statement};
use postrider_sql::driver::{Access, Driver as _};
use postrider_sql::typed::Row;
use postrider_sql::verify::{ClaimPlan, Facts, MIN_ROWS_FOR_PLAN_CHECK, Waking};

use crate::shape;
use crate::store::MysqlTable;

const ROWS: &str = "SELECT CAST(COALESCE(table_rows, 0) AS SIGNED) FROM information_schema.tables \
    WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ?";

impl MysqlTable {
    pub(crate) async fn verified(&self) -> Result<Vec<Finding>, Error> {
        let version = self.database.version().await?;
        let name = if version.contains("MariaDB") { "MariaDB" } else { "MySQL" };
        let patient = self.database.with_long_deadline();
        let constraints = shape::constraints(&self.database, &self.opened.contract, &version).await?;
        let facts = Facts {
            hazards: self.opened.hazards(&patient, &constraints).await?,
            server: format!("{name} {version}"),
            write_refusal: self.opened.write_refusal(&self.database).await,
            claim_plan: self.claim_plan().await?,
            missing: self.migration.missing(MigrateOptions::default()).await?,
            unneeded: self.migration.unneeded().await?,
            duplicates: self.opened.duplicates(&patient).await?,
            unknown_states: self.opened.unknown_states(&patient).await?,
            waking: Waking::Polls,
            declared: self.migration.declared(),
            internal_tables: shape::internal_tables(&self.database).await?,
        };
        Ok(self.opened.findings(Dialect::Mysql, &facts))
    }

    /// The planner scans small tables even with all indexes, so that only the plan for a large one is examined.
    async fn claim_plan(&self) -> Result<ClaimPlan, Error> {
        let table = &self.opened.contract.table;
        let args = vec![Arg::Text(table.schema.clone()), Arg::Text(Some(table.name.clone()))];
        let query = Statement { sql: ROWS.to_owned(), args };
        let rows = self.database.rows("read the table's size", Access::Read, query).await?;
        match rows.into_iter().flatten().next() {
            Some(Value::Int(rows)) if rows >= MIN_ROWS_FOR_PLAN_CHECK => Ok(self.claim_scan().await?.into()),
            _ => Ok(ClaimPlan::NotChecked),
        }
    }

    /// Returns what is wrong with the plan of the claim's first step, which picks the rows.
    async fn claim_scan(&self) -> Result<Option<String>, Error> {
        for statement in self.opened.picks(&self.database) {
            let plan = self.plan("explain the claim", statement).await?;
            let says = |word: &str| {
                plan.iter().flatten().any(|cell| cell.as_text().is_some_and(|text| text.contains(word)))
            };
            if says("filesort") {
                return Ok(Some("a sort that locks all due rows".to_owned()));
            }
            if plan.iter().flatten().any(|cell| cell.as_text() == Some("ALL")) {
                return Ok(Some("a scan that locks the whole table".to_owned()));
            }
        }
        self.group_scan().await
    }

    /// Returns what is wrong with the plan of the search for free groups; its derived tables are small.
    async fn group_scan(&self) -> Result<Option<String>, Error> {
        for statement in self.opened.group_picks(&self.database) {
            let plan = self.plan("explain the search for groups", statement).await?;
            let scans = plan.iter().any(|row| {
                let has = |word: &str| row.iter().any(|cell| cell.as_text() == Some(word));
                has("t") && has("ALL")
            });
            if scans {
                return Ok(Some("a scan of the table for each group".to_owned()));
            }
        }
        Ok(None)
    }

    async fn plan(&self, doing: &str, Statement { sql, args }: Statement) -> Result<Vec<Row>, Error> {
        let explained = Statement { sql: format!("EXPLAIN FORMAT=TRADITIONAL {sql}"), args };
        self.database.rows(doing, Access::Read, explained).await
    }
}
