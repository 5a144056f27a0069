//! Runs the statements of a migration, on the one writer.

use postrider_contract::Contract;
use postrider_seams::store::Error;
use postrider_sql::ddl::migrate::{self, Alter, ExistingTable};
use postrider_sql::driver::Retry;
use postrider_sql::internal::TABLES;
use postrider_sql::verify::hazards::Constraints;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::connect::Database;
use crate::{error, shape};

/// The migration of one contract's table.
pub type Migration = migrate::Migration<Database>;

impl Alter for Database {
    async fn found(&self, contract: &Contract) -> Result<ExistingTable, Error> {
        shape::found(self, contract).await
    }

    async fn constraints(&self, contract: &Contract) -> Result<Constraints, Error> {
        shape::constraints(self, contract).await
    }

    async fn internal_tables(&self) -> Result<[bool; TABLES.len()], Error> {
        shape::internal_tables(self).await
    }

    async fn alter(&self, statements: Vec<String>) -> Result<Vec<String>, Error> {
        let mut ran = Vec::new();
        for statement in statements {
            ran.extend(self.alter_one(statement).await?);
        }
        Ok(ran)
    }
}

impl Database {
    async fn alter_one(&self, statement: String) -> Result<Option<String>, Error> {
        let mut retry = Retry::new(self, "migrate");
        loop {
            match self.try_one(&statement).await {
                Ok(()) => return Ok(Some(statement)),
                Err(cause) if error::is_already_there(&cause) => return Ok(None),
                Err(cause) if error::is_duplicate(&cause) => return Ok(Some(migrate::not_made(&statement))),
                Err(cause) => retry.wait(cause).await?,
            }
        }
    }

    async fn try_one(&self, statement: &str) -> Result<(), sqlx::Error> {
        let mut connection = self.writer.acquire().await?;
        let outcome = connection.execute(AssertSqlSafe(statement)).await.map(|_| ());
        connection.end(outcome)
    }
}
