//! Connects to the databases that `cargo xtask bench` started, and fills tables for a round.

use std::sync::Arc;

use postrider_contract::Contract;
use postrider_seams::migrate::{Migrate, MigrateOptions};
use postrider_seams::{Backend, Store};
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, PgConnection, SqliteConnection};

/// The content of a 200-byte row in addition to its keys.
pub const SUBJECT: &str = "A subject of an ordinary length for a bench row";

/// The value of a variable that `cargo xtask bench` sets; panics if it is missing.
pub fn variable(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: run `cargo xtask bench`, which starts the servers"))
}

/// The URL of another database on the same server.
fn other_database(url: &str, database: &str) -> String {
    let end = url.rfind('/').expect("a URL has a path");
    format!("{}/{database}", &url[..end])
}

/// A table on one of the databases, migrated and empty.
pub enum BenchTable {
    Postgres { database: Box<postrider_store_postgres::Database>, url: String },
    Mariadb { database: postrider_store_mysql::Database, url: String },
    Sqlite { database: postrider_store_sqlite::Database, path: String, _folder: tempfile::TempDir },
}

impl BenchTable {
    /// The name of the database, for figures.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Postgres { .. } => "postgres",
            Self::Mariadb { .. } => "mariadb",
            Self::Sqlite { .. } => "sqlite",
        }
    }

    /// Creates the table on PostgreSQL.
    pub async fn postgres(contract: &Contract) -> Self {
        let server = variable("POSTRIDER_TEST_POSTGRES");
        let mut admin = PgConnection::connect(&server).await.expect("PostgreSQL answers");
        admin.execute("DROP DATABASE IF EXISTS bench").await.expect("dropped");
        admin.execute("CREATE DATABASE bench").await.expect("created");
        let url = other_database(&server, "bench");
        let settings = postrider_store_postgres::Settings::new(url.clone());
        let database = postrider_store_postgres::Database::connect(&settings).expect("settings are right");
        migrate(&*database.migration(contract.clone())).await;
        Self::Postgres { database: Box::new(database), url }
    }

    /// Creates the table on MariaDB.
    pub async fn mariadb(contract: &Contract) -> Self {
        let server = variable("POSTRIDER_TEST_MYSQL");
        let mut admin = MySqlConnection::connect(&server).await.expect("MariaDB answers");
        admin.execute("DROP DATABASE IF EXISTS bench").await.expect("dropped");
        admin.execute("CREATE DATABASE bench").await.expect("created");
        let url = other_database(&server, "bench");
        let settings = postrider_store_mysql::Settings::new(url.clone());
        let database = postrider_store_mysql::Database::connect(&settings).expect("settings are right");
        migrate(&*database.migration(contract.clone())).await;
        Self::Mariadb { database, url }
    }

    /// Creates the table in a temporary SQLite file.
    pub async fn sqlite(contract: &Contract) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("bench.db").display().to_string();
        let mut settings = postrider_store_sqlite::Settings::new(&path);
        settings.create = true;
        let database = postrider_store_sqlite::Database::connect(&settings).expect("settings are right");
        migrate(&*database.migration(contract.clone())).await;
        Self::Sqlite { database, path, _folder: folder }
    }

    /// Opens the table.
    pub async fn open(&self, contract: &Contract) -> Arc<dyn Backend> {
        let stage = &contract.stages[0].name;
        match self {
            Self::Postgres { database, .. } => {
                database.open(contract.clone(), stage, "bench").await.expect("opened")
            }
            Self::Mariadb { database, .. } => {
                database.open(contract.clone(), stage, "bench").await.expect("opened")
            }
            Self::Sqlite { database, .. } => {
                database.open(contract.clone(), stage, "bench").await.expect("opened")
            }
        }
    }

    /// Empties the table, fills it with due rows and vacuums or analyses it, like a table that has been used.
    pub async fn fill(&self, rows: u64, body: &str) {
        let columns = "status, retry_count, next_attempt_at, created_at, to_addresses, from_address, subject, body_text";
        let values = format!(
            "'queued', 0, {{now}}, {{now}}, 'to@example.org', 'from@example.org', '{SUBJECT}', '{body}'"
        );
        match self {
            Self::Postgres { url, .. } => {
                let mut connection = PgConnection::connect(url).await.expect("connected");
                let values = values.replace("{now}", "now() - interval '1 s'");
                let insert = format!(
                    "INSERT INTO mail_outbox ({columns}) SELECT {values} FROM generate_series(1, {rows})"
                );
                for statement in ["TRUNCATE mail_outbox", &insert, "VACUUM ANALYZE mail_outbox", "CHECKPOINT"]
                {
                    connection.execute(AssertSqlSafe(statement)).await.expect("filled");
                }
            }
            Self::Mariadb { url, .. } => {
                let mut connection = MySqlConnection::connect(url).await.expect("connected");
                let values = values.replace("{now}", "UTC_TIMESTAMP(6) - INTERVAL 1 SECOND");
                let insert =
                    format!("INSERT INTO mail_outbox ({columns}) SELECT {values} FROM seq_1_to_{rows}");
                for statement in ["TRUNCATE mail_outbox", &insert, "ANALYZE TABLE mail_outbox"] {
                    connection.execute(AssertSqlSafe(statement)).await.expect("filled");
                }
            }
            Self::Sqlite { path, .. } => {
                let mut connection =
                    SqliteConnection::connect(&format!("sqlite://{path}")).await.expect("connected");
                let values = values.replace("{now}", "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 seconds')");
                let insert = format!(
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {rows}) \
                     INSERT INTO mail_outbox ({columns}) SELECT {values} FROM n"
                );
                for statement in
                    ["PRAGMA busy_timeout = 10000", "DELETE FROM mail_outbox", &insert, "ANALYZE"]
                {
                    connection.execute(AssertSqlSafe(statement)).await.expect("filled");
                }
            }
        }
    }

    /// Opens the table as a [`Store`].
    pub async fn store(&self, contract: &Contract) -> Arc<dyn Store> {
        self.open(contract).await
    }
}

/// Applies a migration, with the notification trigger.
pub async fn migrate(migration: &dyn Migrate) {
    migration.apply(MigrateOptions { notify: true, ..MigrateOptions::default() }).await.expect("migrated");
}
