//! Creates a contract's table, or adds what an existing table lacks.

use async_trait::async_trait;
use postrider_contract::{Columns, Contract};
use postrider_seams::migrate::{Migrate, Options};
use postrider_seams::store::Error;
use postrider_sql::Dialect;
use postrider_sql::ddl::migrate;
use postrider_sql::driver::Retry;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::connect::Database;
use crate::{error, shape};

/// The migration of one contract's table, which may not exist yet.
pub struct Migration {
    database: Database,
    contract: Contract,
}

impl Migration {
    pub(crate) fn new(database: Database, contract: Contract) -> Self {
        Self { database, contract }
    }

    /// Returns the columns that the contract names, whether or not the table has them.
    pub(crate) fn declared(&self) -> Columns {
        self.contract.columns.clone()
    }

    /// Returns the statements for what `verify` reports as missing, without the internal tables.
    pub(crate) async fn missing(&self, options: Options) -> Result<Vec<String>, Error> {
        let found = shape::found(&self.database, &self.contract).await?;
        migrate::missing(&self.contract, Dialect::Sqlite, &found, options)
    }

    /// Runs one statement; what another process has created in the meantime is not an error.
    async fn run_one(&self, statement: String) -> Result<Option<String>, Error> {
        let mut retry = Retry::new(&self.database, "migrate");
        loop {
            match self.try_one(&statement).await {
                Ok(()) => return Ok(Some(statement)),
                Err(cause) if error::is_already_there(&cause) => return Ok(None),
                Err(cause) if error::is_duplicate(&cause) => return Ok(Some(migrate::not_made(&statement))),
                Err(cause) => retry.wait(cause).await?,
            }
        }
    }

    /// Runs a statement without a time limit: an index on a large table takes longer than other calls may.
    async fn try_one(&self, statement: &str) -> Result<(), sqlx::Error> {
        let mut lease = self.database.writer.acquire().await?;
        let outcome = lease.execute(AssertSqlSafe(statement)).await.map(|_| ());
        lease.end(outcome)
    }
}

#[async_trait]
impl Migrate for Migration {
    /// Plans the statements. There is no trigger: polling `data_version` wakes the lanes.
    async fn plan(&self, options: Options) -> Result<Vec<String>, Error> {
        let mut statements = self.missing(options).await?;
        statements.extend(migrate::missing_internal(
            Dialect::Sqlite,
            shape::internal_tables(&self.database).await?,
        ));
        Ok(statements)
    }

    async fn apply(&self, options: Options) -> Result<Vec<String>, Error> {
        let mut ran = Vec::new();
        for statement in self.plan(options).await? {
            ran.extend(self.run_one(statement).await?);
        }
        Ok(ran)
    }
}
