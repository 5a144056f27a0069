//! A database file for each test, removed when the test ends, even if it fails.

use std::sync::Arc;
use std::time::Duration;

use postrider_contract::{Contract, Transition};
use postrider_seams::migrate::{Migrate as _, MigrateOptions};
use postrider_seams::row::{ClaimedRow, Lease};
use postrider_seams::store::{Settlement, Store as _};
use postrider_store_sqlite::{Database, Settings, SqliteStore};
use sqlx::AssertSqlSafe;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};

/// The file of one test, and the test's own connection.
pub struct File {
    pub folder: tempfile::TempDir,
    pub sql: SqlitePool,
}

pub fn contract(name: &str) -> Contract {
    let text = Contract::builtin(name).expect("a contract of ours");
    Contract::parse(&format!("{name}.toml"), text).expect("it parses")
}

impl File {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = SqliteConnectOptions::new()
            .filename(folder.path().join("test.db"))
            .busy_timeout(Duration::from_secs(20));
        let sql = SqlitePoolOptions::new().max_connections(1).connect_lazy_with(options);
        Self { folder, sql }
    }

    pub fn settings(&self) -> Settings {
        let url = format!("sqlite:{}", self.folder.path().join("test.db").display());
        Settings { create: true, ..Settings::new(url) }
    }

    pub fn database(&self) -> Database {
        Database::connect(&self.settings()).expect("settings")
    }

    /// Migrates a table and opens a store on it.
    pub async fn open(&self, name: &str, stage: &str) -> Arc<SqliteStore> {
        let database = self.database();
        database.migration(contract(name)).apply(MigrateOptions::default()).await.expect("migrate");
        database.open(contract(name), stage, "test").await.expect("open")
    }

    pub async fn mail_store(&self) -> Arc<SqliteStore> {
        self.open("mail_outbox", "dispatch").await
    }

    pub async fn run(&self, statement: &str) {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&self.sql).await.expect(statement);
    }

    /// Returns one value as text.
    pub async fn text(&self, query: &str) -> Option<String> {
        let query = format!("SELECT CAST(({query}) AS TEXT)");
        sqlx::query_scalar(AssertSqlSafe(query.as_str())).fetch_one(&self.sql).await.expect(&query)
    }

    /// Inserts rows that are due now, the first one for the longest time.
    pub async fn insert_mails(&self, rows: i64) {
        self.run(&format!(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {rows}) \
             INSERT INTO mail_outbox (to_addresses, subject, body_text, status, next_attempt_at, created_at) \
             SELECT '[\"a@example.org\"]', 'mail ' || n, 'text', 'queued', \
             strftime('%Y-%m-%dT%H:%M:%fZ', 'now', (n - {rows}) || ' seconds'), strftime('%Y-%m-%dT%H:%M:%fZ', 'now') \
             FROM n"
        ))
        .await;
    }
}

pub async fn claim(store: &SqliteStore, limit: u32) -> Vec<ClaimedRow> {
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
