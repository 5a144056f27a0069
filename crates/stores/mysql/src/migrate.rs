//! Creates a contract's table, or adds what an existing table lacks.

use async_trait::async_trait;
use postrider_contract::{Columns, Contract};
use postrider_seams::migrate::{Migrate, Options};
use postrider_seams::store::Error;
use postrider_sql::Dialect;
use postrider_sql::ddl::migrate;
use postrider_sql::driver::Driver as _;
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::connect::Database;
use crate::{error, shape};

/// Serialises concurrent migrations.
const LOCK: &str = "SELECT GET_LOCK('postrider migrate', 120)";
/// Removes the statement time limit where the server has one (MariaDB).
const NO_LIMIT: &str = "SET /*M!100301 SESSION max_statement_time = 0, */ @postrider = 1";

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
        migrate::missing(&self.contract, Dialect::Mysql, &found, options)
    }

    async fn run_all(&self, statements: Vec<String>) -> Result<Vec<String>, Error> {
        let failed = |cause| error::classify(&self.database.place, "migrate", cause);
        // Without a time limit: an index on a large table takes longer than other calls may.
        let mut connection = self.database.pool.acquire().await.map_err(failed)?;
        connection.execute(NO_LIMIT).await.map_err(failed)?;
        connection.execute(LOCK).await.map_err(failed)?;
        let mut ran = Vec::new();
        for statement in statements {
            ran.extend(self.run_one(&mut connection, statement).await?);
        }
        // The lock ends with the connection, which is not reused.
        Ok(ran)
    }

    async fn run_one(
        &self,
        connection: &mut MySqlConnection,
        statement: String,
    ) -> Result<Option<String>, Error> {
        match connection.execute(AssertSqlSafe(statement.as_str())).await {
            Ok(_) => Ok(Some(statement)),
            Err(cause) => match error::number(&cause) {
                // Another process has created it in the meantime: table, column, index.
                Some(1050 | 1060 | 1061) => Ok(None),
                Some(1062) => Ok(Some(migrate::not_made(&statement))),
                _ => Err(error::classify(&self.database.place, "migrate", cause)),
            },
        }
    }
}

#[async_trait]
impl Migrate for Migration {
    /// Plans the statements. There is no trigger: MySQL has no notifications.
    async fn plan(&self, options: Options) -> Result<Vec<String>, Error> {
        self.database.reach().await?;
        let mut statements = self.missing(options).await?;
        statements
            .extend(migrate::missing_internal(Dialect::Mysql, shape::internal_tables(&self.database).await?));
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
