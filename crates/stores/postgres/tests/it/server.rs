//! A database for each test, on the server that `cargo xtask test` starts; dropped when the test ends, even if it
//! fails.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use postrider_contract::{Contract, Transition};
use postrider_seams::migrate::{Migrate as _, MigrateOptions};
use postrider_seams::row::{ClaimedRow, Lease};
use postrider_seams::store::{Settlement, Store as _};
use postrider_store_postgres::{Database, PostgresStore, Settings};
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};

/// The database of one test, and the test's own connection pool.
#[derive(Clone)]
pub struct Server {
    pub url: String,
    pub sql: PgPool,
}

fn base_url() -> String {
    std::env::var("POSTRIDER_TEST_POSTGRES")
        .expect("POSTRIDER_TEST_POSTGRES is not set: run `cargo xtask test`")
}

async fn admin(statement: String) {
    let mut connection = PgConnection::connect(&base_url()).await.expect("the test server answers");
    connection.execute(AssertSqlSafe(statement)).await.expect("an administrator's statement");
}

/// Runs a test with its own database.
pub async fn with_database<T, F>(test: T)
where
    T: FnOnce(Server) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let name = format!("pr_{:016x}", rand::random::<u64>());
    admin(format!("CREATE DATABASE {name}")).await;
    let base = base_url();
    let (host, _) = base.rsplit_once('/').expect("the URL names a database");
    let url = format!("{host}/{name}");
    let sql = PgPoolOptions::new().max_connections(4).connect(&url).await.expect("the new database");
    let ended = tokio::spawn(test(Server { url, sql: sql.clone() })).await;
    sql.close().await;
    admin(format!("DROP DATABASE {name} WITH (FORCE)")).await;
    if let Err(failure) = ended {
        std::panic::resume_unwind(failure.into_panic());
    }
}

pub fn contract(name: &str) -> Contract {
    let text = Contract::builtin(name).expect("a contract of ours");
    Contract::parse(&format!("{name}.toml"), text).expect("it parses")
}

impl Server {
    pub fn database(&self) -> Database {
        Database::connect(&Settings::new(&self.url)).expect("settings")
    }

    /// Migrates a table and opens a store on it.
    pub async fn open(&self, name: &str, stage: &str) -> Arc<PostgresStore> {
        let database = self.database();
        database.migration(contract(name)).apply(MigrateOptions::default()).await.expect("migrate");
        database.open(contract(name), stage, "test").await.expect("open")
    }

    pub async fn mail_store(&self) -> Arc<PostgresStore> {
        self.open("mail_outbox", "dispatch").await
    }

    pub async fn run(&self, statement: &str) {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&self.sql).await.expect(statement);
    }

    /// Returns one value as text.
    pub async fn text(&self, query: &str) -> Option<String> {
        let query = format!("SELECT ({query})::text");
        sqlx::query_scalar(AssertSqlSafe(query.as_str())).fetch_one(&self.sql).await.expect(&query)
    }

    pub async fn number(&self, query: &str) -> i64 {
        self.text(query).await.expect("a number").parse().expect("a number")
    }

    /// Inserts rows that are due now, the first one for the longest time.
    pub async fn insert_mails(&self, rows: i64) {
        self.run(&format!(
            "INSERT INTO mail_outbox (to_addresses, subject, body_text, status, next_attempt_at, created_at) \
             SELECT '[\"a@example.org\"]', 'mail ' || n, 'text', 'queued', now() - make_interval(secs => {rows} - n), now() \
             FROM generate_series(1, {rows}) AS n"
        ))
        .await;
    }
}

pub async fn claim(store: &PostgresStore, limit: u32) -> Vec<ClaimedRow> {
    store.claim(limit).await.expect("claim")
}

pub fn settlement(lease: &Lease, transition: Transition) -> Settlement {
    Settlement {
        lease: lease.clone(),
        transition,
        delay: Duration::ZERO,
        reason: None,
        receipt: None,
        envelope: std::collections::BTreeMap::default(),
        outcome: std::collections::BTreeMap::default(),
        releases: Vec::new(),
    }
}
