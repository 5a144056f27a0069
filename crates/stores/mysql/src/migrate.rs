//! Runs the statements of a migration, on a connection without a time limit.

use postrider_contract::Contract;
use postrider_seams::store::Error;
use postrider_sql::ddl::migrate::{self, Alter, ExistingTable};
use postrider_sql::driver::Driver as _;
use postrider_sql::internal::TABLES;
use postrider_sql::verify::hazards::Constraints;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::connect::Database;
use crate::{error, shape};

/// Serialises concurrent migrations.
const LOCK: &str = "SELECT GET_LOCK('postrider migrate', 120)";
/// Removes the statement time limit where the server has one (MariaDB).
const NO_LIMIT: &str = "SET /*M!100301 SESSION max_statement_time = 0, */ @postrider = 1";

/// The migration of one contract's table.
pub type Migration = migrate::Migration<Database>;

impl Alter for Database {
    async fn found(&self, contract: &Contract) -> Result<ExistingTable, Error> {
        shape::found(self, contract).await
    }

    async fn constraints(&self, contract: &Contract) -> Result<Constraints, Error> {
        shape::constraints(self, contract, &self.version().await?).await
    }

    async fn internal_tables(&self) -> Result<[bool; TABLES.len()], Error> {
        shape::internal_tables(self).await
    }

    async fn outdated_internal(&self) -> Result<Vec<String>, Error> {
        shape::outdated_internal(self).await
    }

    async fn alter(&self, statements: Vec<String>) -> Result<Vec<String>, Error> {
        let failed = |cause| self.error("migrate", cause);
        let mut connection = self.pool.acquire().await.map_err(failed)?;
        connection.execute(NO_LIMIT).await.map_err(failed)?;
        connection.execute(LOCK).await.map_err(failed)?;
        let mut ran = Vec::new();
        for statement in statements {
            match connection.execute(AssertSqlSafe(statement.as_str())).await {
                Ok(_) => ran.push(statement),
                Err(cause) => match error::number(&cause) {
                    // Another process has created it in the meantime: table, column, index.
                    Some(1050 | 1060 | 1061) => {}
                    Some(1062) => ran.push(migrate::not_made(&statement)),
                    _ => return Err(failed(cause)),
                },
            }
        }
        // The lock ends with the connection, which is not reused.
        Ok(ran)
    }
}
