//! Fills the table for a round, and drains it with the real binary.

use std::path::PathBuf;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};

use super::Run;
use super::broker::{Broker, PAYLOAD, TOPIC};
use crate::product;
use crate::servers::variable;

/// The rows in front of those that can be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front {
    Nothing,
    /// Older rows of this many keys, whose first rows wait for their next attempt.
    Keys(u64),
}

/// The outbox table on PostgreSQL.
pub struct Table {
    url: String,
    config: PathBuf,
    _folder: tempfile::TempDir,
}

impl Table {
    /// Creates the table, and the settings of the binary for this broker.
    pub async fn create(broker: &Broker) -> Self {
        let server = variable("POSTRIDER_TEST_POSTGRES");
        let mut admin = PgConnection::connect(&server).await.expect("PostgreSQL answers");
        admin.execute("DROP DATABASE IF EXISTS bench_outbox WITH (FORCE)").await.expect("dropped");
        admin.execute("CREATE DATABASE bench_outbox").await.expect("created");
        let (address, _) = server.rsplit_once('/').expect("a URL has a path");
        let url = format!("{address}/bench_outbox");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = folder.path().join("postrider.toml");
        let text = format!(
            "[server]\nlisten = \"off\"\n\n[stores.main]\nurl = \"{url}\"\n\n[transports.broker]\nurl = \"{}\"\n\n\
             [lanes.outbox]\ncontract = \"outbox\"\n",
            broker.url()
        );
        std::fs::write(&config, text).expect("written");
        product::migrate(&config).await;
        let table = Self { url, config, _folder: folder };
        table.execute(&["CREATE EXTENSION IF NOT EXISTS pg_stat_statements"]).await;
        table
    }

    async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.url).await.expect("connected")
    }

    async fn execute(&self, statements: &[&str]) {
        let mut connection = self.connect().await;
        for statement in statements {
            connection.execute(AssertSqlSafe(*statement)).await.expect("the bench's own SQL is right");
        }
    }

    /// Empties the table, fills it with due rows and vacuums it, like a table that has been used.
    pub async fn fill(&self, rows: u64, keys: u64, front: Front, blocked: u64) {
        let columns =
            "idempotency_key, topic, partition_key, payload, created_at, retry_count, next_attempt_at";
        let key = if keys == 0 { "NULL".to_owned() } else { format!("'key-' || i % {keys}") };
        let due = format!(
            "INSERT INTO outbox ({columns}) SELECT 'row-' || i, '{TOPIC}', {key}, repeat('x', {PAYLOAD}), \
             now() - interval '1 minute' + i * interval '1 microsecond', 0, NULL FROM generate_series(1, {rows}) AS i"
        );
        let held = match front {
            Front::Nothing => "SELECT 1".to_owned(),
            Front::Keys(keys) => format!(
                "INSERT INTO outbox ({columns}) SELECT 'held-' || i, '{TOPIC}', 'held-' || i % {keys}, repeat('x', {PAYLOAD}), \
                 now() - interval '1 hour' + i * interval '1 microsecond', CASE WHEN i <= {keys} THEN 1 ELSE 0 END, \
                 CASE WHEN i <= {keys} THEN now() + interval '1 day' END FROM generate_series(1, {blocked}) AS i"
            ),
        };
        let age = ["VACUUM ANALYZE outbox", "CHECKPOINT"];
        self.execute(&["TRUNCATE outbox", &held, &due, age[0], age[1]]).await;
    }

    /// Runs the binary until every row that can be delivered is. The time is PostgreSQL's, from the first settle to the
    /// last, without the start of the process.
    pub async fn drain(&self, rows: u64) -> Run {
        self.execute(&["SELECT pg_stat_statements_reset()"]).await;
        let mut connection = self.connect().await;
        let before = commits(&mut connection).await;
        let mut worker = product::start(&self.config);
        let mut looks = 0;
        while delivered(&mut connection).await < rows {
            looks += 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(worker.try_wait().expect("asked").is_none(), "postrider ended early");
        }
        // Sessions report their statistics within a second of being idle.
        tokio::time::sleep(Duration::from_millis(1200)).await;
        let commits = commits(&mut connection).await - before - f64::from(looks);
        product::stop(&mut worker).await;
        let seconds = "SELECT extract(epoch FROM max(processed_at) - min(processed_at))::float8 FROM outbox";
        let calls = "SELECT sum(calls)::float8 FROM pg_stat_statements WHERE query ILIKE '%outbox%' \
                     AND query NOT LIKE '%bench look%'";
        let each = |count: f64| count * 1000.0 / number(rows);
        Run {
            rate: number(rows) / float(&mut connection, seconds).await,
            commits: each(commits),
            statements: each(float(&mut connection, calls).await),
        }
    }
}

#[allow(clippy::cast_precision_loss)] // row counts are far below 2^52
fn number(rows: u64) -> f64 {
    rows as f64
}

async fn float(connection: &mut PgConnection, sql: &str) -> f64 {
    sqlx::query(AssertSqlSafe(sql)).fetch_one(connection).await.expect("asked").get(0)
}

async fn commits(connection: &mut PgConnection) -> f64 {
    float(connection, "SELECT xact_commit::float8 FROM pg_stat_database WHERE datname = current_database()")
        .await
}

async fn delivered(connection: &mut PgConnection) -> u64 {
    let look = "SELECT count(*) AS \"bench look\" FROM outbox WHERE status = 'DELIVERED'";
    let row = sqlx::query(look).fetch_one(connection).await.expect("counted");
    row.get::<i64, _>(0).unsigned_abs()
}
