//! Compares the table with its contract, and checks the query plan of the claim.

use postrider_seams::inspect::Finding;
use postrider_seams::migrate::MigrateOptions;
use postrider_seams::store::Error;
use postrider_sql::Dialect;
use postrider_sql::driver::Driver as _;
use postrider_sql::driver::execute::{Answer, Execute as _, Statement};
use postrider_sql::verify::Facts;

use crate::shape;
use crate::store::PostgresTable;

/// Planner settings that use every available index: a small table would be scanned even with all indexes.
const INDEXES_ONLY: [&str; 4] = [
    "SET LOCAL enable_seqscan = off",
    "SET LOCAL enable_sort = off",
    "SET LOCAL enable_incremental_sort = off",
    "SET LOCAL enable_bitmapscan = off",
];

/// The plan of the search for free groups if its indexes are missing.
const GROUP_SCAN: &str = "a sequential scan for each group";

impl PostgresTable {
    pub(crate) async fn verified(&self) -> Result<Vec<Finding>, Error> {
        let patient = self.database.with_long_deadline();
        let constraints = shape::constraints(&self.database, &self.opened.contract).await?;
        let hazards = self.opened.hazards(&patient, &constraints).await?;
        if hazards.unclaimable {
            return Ok(hazards.findings);
        }
        let facts = Facts {
            hazards,
            server: self.server().await?,
            write_refusal: self.opened.write_refusal(&self.database).await,
            claim_plan: self.claim_scan().await?.into(),
            missing: self.migration.missing(MigrateOptions::default()).await?,
            unneeded: self.migration.unneeded().await?,
            duplicates: self.opened.duplicates(&patient).await?,
            unknown_states: self.opened.unknown_states(&patient).await?,
            waking: self.waker.waking(),
            declared: self.migration.declared(),
            internal_tables: shape::internal_tables(&self.database).await?,
        };
        Ok(self.opened.findings(Dialect::Postgres, &facts))
    }

    async fn server(&self) -> Result<String, Error> {
        let query = sqlx::query("SELECT current_setting('server_version')");
        let (version,): (String,) = self.database.one("read the version", query).await?;
        Ok(format!("PostgreSQL {version}"))
    }

    /// Returns what is wrong with the plan of the claim.
    async fn claim_scan(&self) -> Result<Option<String>, Error> {
        let claims = self.opened.picks(&self.database);
        let count = claims.len();
        let plans = self.plans(claims.into_iter().chain(self.opened.group_picks(&self.database))).await?;
        let (of_claims, of_groups) = plans.split_at(count);
        let shortfall = of_claims.iter().find_map(|plan| self.shortfall(plan));
        let scan = || of_groups.iter().any(|plan| self.scans(plan)).then(|| GROUP_SCAN.to_owned());
        Ok(shortfall.or_else(scan))
    }

    /// Returns the query plan of each statement, line by line, without running it.
    async fn plans(&self, statements: impl Iterator<Item = Statement>) -> Result<Vec<Vec<String>>, Error> {
        let settings = INDEXES_ONLY.map(|sql| Statement { sql: sql.to_owned(), args: Vec::new() });
        let explained =
            statements.map(|Statement { sql, args }| Statement { sql: format!("EXPLAIN {sql}"), args });
        let statements: Vec<Statement> = settings.into_iter().chain(explained).collect();
        let answers = self.database.transact("explain the claim", &statements).await?;
        let lines = |answer: Answer| {
            answer.rows.into_iter().flatten().filter_map(|line| Some(line.as_text()?.to_owned())).collect()
        };
        Ok(answers.into_iter().skip(INDEXES_ONLY.len()).map(lines).collect())
    }

    fn scans(&self, plan: &[impl AsRef<str>]) -> bool {
        let scan = format!("Seq Scan on {}", self.opened.contract.table.name);
        plan.iter().any(|line| line.as_ref().replace('"', "").contains(&scan))
    }

    /// Checks the part of the plan below the locking node, which picks the rows.
    fn shortfall(&self, plan: &[String]) -> Option<String> {
        let picks = plan.iter().skip_while(|line| !line.contains("LockRows"));
        let pick: Vec<&String> = picks.take_while(|line| !line.contains("CTE moved")).collect();
        if self.scans(&pick) {
            return Some("a sequential scan of the table".to_owned());
        }
        pick.iter().any(|line| line.contains("Sort")).then(|| "a sort of all due rows".to_owned())
    }
}
