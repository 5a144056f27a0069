//! Creates a contract's table, or adds what an existing table lacks.

use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::{Columns, Contract};
use postrider_seams::migrate::{Migrate, Options};
use postrider_seams::store::Error;
use postrider_sql::ddl::migrate;
use postrider_sql::driver::Driver as _;
use postrider_sql::{Dialect, ddl};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, PgConnection};

use crate::connect::Database;
use crate::session::rolled_back;
use crate::{error, shape, wake};

/// Begins a migration; the lock serialises concurrent ones. Its number is arbitrary.
const BEGIN: &str = "BEGIN; SET LOCAL TimeZone = 'UTC'; SET LOCAL statement_timeout = 0; \
    SELECT pg_advisory_xact_lock(7305812)";

/// Time limit for connecting.
const CONNECT: Duration = Duration::from_secs(5);

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

    /// Returns the statements for what `verify` reports as missing, without the internal tables and the trigger.
    pub(crate) async fn missing(&self, options: Options) -> Result<Vec<String>, Error> {
        let found = shape::found(&self.database, &self.contract).await?;
        migrate::missing(&self.contract, Dialect::Postgres, &found, options)
    }

    /// Runs the statements on a separate connection: an index on a large table takes longer than other calls may. Each
    /// statement has its own transaction, with a lock that also works through a pooler.
    async fn run_all(&self, statements: Vec<String>) -> Result<Vec<String>, Error> {
        let failed = |cause| error::classify(&self.database.place, "migrate", cause);
        let options = self.database.pool.connector().plain_options();
        let connected = tokio::time::timeout(CONNECT, options.connect()).await;
        let mut connection = connected.map_err(|_| failed(sqlx::Error::PoolTimedOut))?.map_err(failed)?;
        let mut ran = Vec::new();
        for statement in statements {
            ran.extend(self.run_one(&mut connection, statement).await?);
        }
        connection.close().await.map_err(failed)?;
        Ok(ran)
    }

    async fn run_one(
        &self,
        connection: &mut PgConnection,
        statement: String,
    ) -> Result<Option<String>, Error> {
        match try_one(connection, &statement).await {
            Ok(()) => Ok(Some(statement)),
            Err(cause) => match error::code(&cause).as_deref() {
                // Another process has created it in the meantime: table, column, index, trigger.
                Some("42P07" | "42701" | "42710") => Ok(None),
                Some("23505") => Ok(Some(migrate::not_made(&statement))),
                _ => Err(error::classify(&self.database.place, "migrate", cause)),
            },
        }
    }
}

async fn try_one(connection: &mut PgConnection, statement: &str) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin_with(BEGIN).await?;
    match transaction.execute(AssertSqlSafe(statement)).await {
        Ok(_) => transaction.commit().await,
        Err(cause) => Err(rolled_back(transaction, cause).await),
    }
}

#[async_trait]
impl Migrate for Migration {
    async fn plan(&self, options: Options) -> Result<Vec<String>, Error> {
        self.database.reach().await?;
        let mut statements = self.missing(options).await?;
        statements.extend(migrate::missing_internal(
            Dialect::Postgres,
            shape::internal_tables(&self.database).await?,
        ));
        if options.notify && !wake::has_trigger(&self.database, &self.contract).await? {
            statements.extend(ddl::notify(&self.contract));
        }
        Ok(statements)
    }

    async fn apply(&self, options: Options) -> Result<Vec<String>, Error> {
        let statements = self.plan(options).await?;
        if statements.is_empty() {
            return Ok(statements);
        }
        self.run_all(statements).await
    }
}
