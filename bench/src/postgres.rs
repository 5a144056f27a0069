//! A PostgreSQL database for one bench, with the settings of the binary that uses it, and the measurement of a run: its
//! rate, and the commits and statements that it costs.

use std::path::PathBuf;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};
use tokio::process::Child;

use crate::binary;
use crate::servers::variable;

/// Marks the bench's own queries, so that they are not counted.
pub const OWN_QUERY: &str = "bench look";

/// A database that the bench created, and a settings file for it.
pub struct BenchDatabase {
    pub url: String,
    pub config: PathBuf,
    _folder: tempfile::TempDir,
}

impl BenchDatabase {
    /// Creates the database and the tables of the lanes in `settings`, which gets the database's URL.
    pub async fn create(name: &str, settings: impl FnOnce(&str) -> String) -> Self {
        let server = variable("POSTRIDER_TEST_POSTGRES");
        let mut admin = PgConnection::connect(&server).await.expect("PostgreSQL answers");
        for statement in
            [format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"), format!("CREATE DATABASE {name}")]
        {
            admin.execute(AssertSqlSafe(statement)).await.expect("a new database");
        }
        let (address, _) = server.rsplit_once('/').expect("a URL has a path");
        let url = format!("{address}/{name}");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = folder.path().join("postrider.toml");
        std::fs::write(&config, settings(&url)).expect("written");
        binary::migrate(&config).await;
        let database = Self { url, config, _folder: folder };
        database.execute(&["CREATE EXTENSION IF NOT EXISTS pg_stat_statements"]).await;
        database
    }

    /// Opens a connection.
    pub async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.url).await.expect("connected")
    }

    /// Runs statements one after another.
    pub async fn execute(&self, statements: &[&str]) {
        let mut connection = self.connect().await;
        for statement in statements {
            connection.execute(AssertSqlSafe(*statement)).await.expect("the bench's own SQL is right");
        }
    }
}

/// The result of one run of the binary.
#[derive(Debug, Clone, Copy)]
pub struct Measurement {
    /// Rows per second.
    pub rate: f64,
    /// Commits of PostgreSQL per thousand rows.
    pub commits: f64,
    /// Statements per thousand rows.
    pub statements: f64,
}

/// A run of the binary whose commits and statements are counted.
pub struct MeasuredRun {
    pub connection: PgConnection,
    worker: Child,
    commits_before: f64,
    /// Commits of the bench itself.
    own: u32,
}

impl MeasuredRun {
    /// Resets the counters and starts the binary.
    pub async fn start(database: &BenchDatabase) -> Self {
        database.execute(&["SELECT pg_stat_statements_reset()"]).await;
        let mut connection = database.connect().await;
        let commits_before = commits(&mut connection).await;
        Self { connection, worker: binary::start(&database.config), commits_before, own: 0 }
    }

    /// Runs a statement of the bench; it is not counted.
    pub async fn execute(&mut self, statement: String) {
        self.connection.execute(AssertSqlSafe(statement)).await.expect("the bench's own SQL is right");
        self.own += 1;
    }

    /// Waits until the query, which must be marked as [`OWN_QUERY`], counts this many rows.
    pub async fn wait_for(&mut self, count: &str, rows: u64) {
        loop {
            let row =
                sqlx::query(AssertSqlSafe(count)).fetch_one(&mut self.connection).await.expect("counted");
            if row.get::<i64, _>(0).unsigned_abs() >= rows {
                return;
            }
            self.own += 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(self.worker.try_wait().expect("asked").is_none(), "postrider ended early");
        }
    }

    /// Stops the binary. `seconds` is the query for the duration of the run, by PostgreSQL's clock; statements are
    /// counted if they contain `table`.
    pub async fn finish(mut self, rows: u64, seconds: &str, table: &str) -> Measurement {
        // Sessions report their statistics within a second of being idle.
        tokio::time::sleep(Duration::from_millis(1200)).await;
        let commits = commits(&mut self.connection).await - self.commits_before - f64::from(self.own);
        binary::stop(&mut self.worker).await;
        let calls = format!(
            "SELECT sum(calls)::float8 FROM pg_stat_statements WHERE query ILIKE '%{table}%' \
             AND query NOT LIKE '%{OWN_QUERY}%'"
        );
        let per_thousand = |count: f64| count * 1000.0 / number(rows);
        Measurement {
            rate: number(rows) / query_float(&mut self.connection, seconds).await,
            commits: per_thousand(commits),
            statements: per_thousand(query_float(&mut self.connection, &calls).await),
        }
    }
}

/// Converts a count of rows for a rate.
#[allow(clippy::cast_precision_loss)] // row counts are far below 2^52
pub fn number(rows: u64) -> f64 {
    rows as f64
}

/// The only value of a query, as a float.
pub async fn query_float(connection: &mut PgConnection, sql: &str) -> f64 {
    sqlx::query(AssertSqlSafe(sql)).fetch_one(connection).await.expect("asked").get(0)
}

async fn commits(connection: &mut PgConnection) -> f64 {
    let commits = "SELECT xact_commit::float8 FROM pg_stat_database WHERE datname = current_database()";
    query_float(connection, commits).await
}
