//! Runs the statements of a migration, on a connection of its own.

use std::time::Duration;

use postrider_contract::Contract;
use postrider_seams::store::Error;
use postrider_sql::ddl;
use postrider_sql::ddl::migrate::{self, Alter, ExistingTable};
use postrider_sql::driver::Driver as _;
use postrider_sql::internal::TABLES;
use postrider_sql::verify::hazards::Constraints;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, PgConnection};

use crate::connect::Database;
use crate::{error, shape, wake};

/// Begins a migration; the lock serialises concurrent ones. Its number is arbitrary.
const BEGIN: &str = "BEGIN; SET LOCAL TimeZone = 'UTC'; SET LOCAL statement_timeout = 0; \
    SELECT pg_advisory_xact_lock(7305812)";

/// Time limit for connecting.
const CONNECT: Duration = Duration::from_secs(5);

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

    async fn missing_trigger(&self, contract: &Contract) -> Result<Vec<String>, Error> {
        if wake::has_trigger(self, contract).await? {
            return Ok(Vec::new());
        }
        Ok(ddl::notify(contract))
    }

    /// Each statement has its own transaction, with a lock that also works through a pooler.
    async fn alter(&self, statements: Vec<String>) -> Result<Vec<String>, Error> {
        let failed = |cause| self.error("migrate", cause);
        let options = self.pool.connector().plain_options();
        let connected = tokio::time::timeout(CONNECT, options.connect()).await;
        let mut connection = connected.map_err(|_| failed(sqlx::Error::PoolTimedOut))?.map_err(failed)?;
        let mut ran = Vec::new();
        for statement in statements {
            match run_one(&mut connection, &statement).await {
                Ok(()) => ran.push(statement),
                Err(cause) => match error::code(&cause).as_deref() {
                    // Another process has created it in the meantime: table, column, index, trigger.
                    Some("42P07" | "42701" | "42710") => {}
                    Some("23505") => ran.push(migrate::not_made(&statement)),
                    _ => return Err(hinted(failed(cause), &statement)),
                },
            }
        }
        connection.close().await.map_err(failed)?;
        Ok(ran)
    }
}

/// Names the option to do without the trigger, which needs more rights than the other statements.
fn hinted(mut error: Error, statement: &str) -> Error {
    if statement.contains("$postrider$") {
        error.message.push_str(
            "; the trigger only wakes workers sooner: `postrider migrate --no-notify` leaves it out",
        );
    }
    error
}

async fn run_one(connection: &mut PgConnection, statement: &str) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin_with(BEGIN).await?;
    match transaction.execute(AssertSqlSafe(statement)).await {
        Ok(_) => transaction.commit().await,
        Err(cause) => Err(Database::roll_back(transaction, cause).await),
    }
}
