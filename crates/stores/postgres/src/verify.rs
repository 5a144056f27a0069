//! Compares the table with its contract, and checks the query plan of the claim.

use postrider_seams::inspect::Finding;
use postrider_seams::migrate::Options;
use postrider_seams::store::Error;
use postrider_sql::Dialect;
use postrider_sql::bind::Given;
use postrider_sql::run::verify::Facts;
use postrider_sql::run::{Patience, Run as _};
use sqlx::Executor as _;
use sqlx::postgres::PgConnection;

use crate::session::rolled_back;
use crate::store::PostgresTable;
use crate::{script, shape};

/// Planner settings that use every available index: a small table would be scanned even with all indexes.
const INDEXES_ONLY: &str = "SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; \
    SET LOCAL enable_incremental_sort = off; SET LOCAL enable_bitmapscan = off";

/// The plan of the search for free groups if its indexes are missing.
const GROUP_SCAN: &str = "a sequential scan for each group";

impl PostgresTable {
    pub(crate) async fn verified(&self) -> Result<Vec<Finding>, Error> {
        let patient = self.database.unhurried();
        let constraints = shape::constraints(&self.database, &self.opened.contract).await?;
        let hazards = self.opened.hazards(&patient, &constraints).await?;
        if hazards.unclaimable {
            return Ok(hazards.findings);
        }
        let facts = Facts {
            hazards,
            server: self.server().await?,
            write_refusal: self.opened.write_refusal(&self.database).await,
            claim_scan: self.claim_scan().await?,
            missing: self.migration.missing(Options::default()).await?,
            duplicates: self.opened.duplicates(&patient).await?,
            strange: self.opened.strange(&patient).await?,
            waking: self.waker.waking(),
            declared: self.migration.declared(),
            own_tables: shape::own_tables(&self.database).await?,
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
        let database = &self.database;
        let mut patience = Patience::default();
        loop {
            match self.try_claim_scan().await {
                Ok(shortfall) => return Ok(shortfall),
                Err(cause) => database.bear(&mut patience, "explain the claim", cause).await?,
            }
        }
    }

    async fn try_claim_scan(&self) -> Result<Option<String>, sqlx::Error> {
        let mut lease = self.database.pool.acquire().await?;
        let outcome = lease.bound(self.database.patience).run(self.explained(&mut lease)).await;
        lease.end(outcome)
    }

    async fn explained(&self, connection: &mut PgConnection) -> Result<Option<String>, sqlx::Error> {
        let database = &self.database;
        let mut transaction = database.pool.connector().transaction(connection, database.patience).await?;
        match self.explained_in(&mut transaction).await {
            Ok(shortfall) => transaction.rollback().await.map(|()| shortfall),
            Err(cause) => Err(rolled_back(transaction, cause).await),
        }
    }

    async fn explained_in(&self, transaction: &mut PgConnection) -> Result<Option<String>, sqlx::Error> {
        transaction.execute(INDEXES_ONLY).await?;
        let given = Given::limit(&self.database.instance, 100);
        let mut shortfall = None;
        for step in self.opened.program.claim.iter().filter_map(|claim| claim.steps.first()) {
            let plan = script::explain(transaction, step, &given).await?;
            shortfall = shortfall.or(self.shortfall(&plan));
        }
        let groups = self.opened.program.groups.iter().flat_map(|groups| &groups.after);
        for step in groups.flat_map(|script| &script.steps) {
            let plan = script::explain(transaction, step, &given).await?;
            shortfall = shortfall.or(self.scans(&plan).then(|| GROUP_SCAN.to_owned()));
        }
        Ok(shortfall)
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
