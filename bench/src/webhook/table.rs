//! Fills the tables for a round, and drains them with the real binary.

use std::path::PathBuf;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};

use super::sink::Sink;
use crate::product;
use crate::servers::variable;

/// A payload of 200 bytes of JSON.
pub const PAYLOAD: &str = "{\"orderId\":\"12345\",\"amount\":99.99,\"customer\":{\"id\":\"cust_789\",\"name\":\"A customer with a name\",\"email\":\"someone@example.com\"},\"lines\":[{\"sku\":\"A-1\",\"count\":1},{\"sku\":\"B-2\",\"count\":2}],\"note\":\"please ring\"}";

/// The listener is off in cases that send no requests.
const LISTEN: &str = "off";

/// The jobs of a case.
#[derive(Debug, Clone, Copy)]
pub struct Jobs {
    targets: u64,
    /// The number of targets that never answer, which get every tenth job.
    hanging: u64,
    /// Whether the jobs are created while the binary runs, instead of before.
    meanwhile: bool,
}

impl Jobs {
    /// Jobs to this many healthy targets.
    pub const fn to(targets: u64) -> Self {
        Self { targets, hanging: 0, meanwhile: false }
    }

    /// The same jobs, created while the binary runs.
    pub const fn created_meanwhile(self) -> Self {
        Self { meanwhile: true, ..self }
    }

    /// The same jobs, with this many hanging targets.
    pub const fn beside_hanging(self, hanging: u64) -> Self {
        Self { hanging, ..self }
    }

    /// The insert of jobs `from..=to`; every tenth is followed by a copy to a hanging target.
    fn insert(self, port: u16, from: u64, to: u64) -> String {
        let Self { targets, hanging, .. } = self;
        let columns = "id, \"code\", \"source\", target_url, payload, queued_at";
        let url = |net: u8, target: &str| {
            format!(
                "'http://127.{net}.' || ({target}) / 250 || '.' || ({target}) % 250 + 1 || ':{port}/hook'"
            )
        };
        let row = |id: &str, url: &str| {
            format!("SELECT {id}, 'shop:orders:order:created', 'bench', {url}, '{PAYLOAD}', now()")
        };
        let healthy = row("lpad(i::text, 12, '0') || 'A'", &url(1, &format!("i % {targets}")));
        let mut sql = format!(
            "INSERT INTO dispatch_jobs ({columns}) {healthy} FROM generate_series({from}, {to}) AS i"
        );
        if hanging > 0 {
            let hangs = row("lpad(i::text, 12, '0') || 'B'", &url(2, &format!("i / 9 % {hanging}")));
            sql = format!("{sql} UNION ALL {hangs} FROM generate_series({from}, {to}) AS i WHERE i % 9 = 0");
        }
        sql
    }
}

/// The result of one run of the binary.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Jobs to healthy targets per second.
    pub rate: f64,
    /// Commits of PostgreSQL per thousand jobs.
    pub commits: f64,
    pub statements: f64,
}

/// The tables of webhook jobs on PostgreSQL.
pub struct Table {
    url: String,
    port: u16,
    config: PathBuf,
    _folder: tempfile::TempDir,
}

impl Table {
    /// Creates the tables and the settings of the binary.
    pub async fn create(sink: &Sink) -> Self {
        let server = variable("POSTRIDER_TEST_POSTGRES");
        let mut admin = PgConnection::connect(&server).await.expect("PostgreSQL answers");
        admin.execute("DROP DATABASE IF EXISTS bench_webhook WITH (FORCE)").await.expect("dropped");
        admin.execute("CREATE DATABASE bench_webhook").await.expect("created");
        let (address, _) = server.rsplit_once('/').expect("a URL has a path");
        let url = format!("{address}/bench_webhook");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = folder.path().join("postrider.toml");
        let text = format!(
            "[server]\nlisten = \"{LISTEN}\"\n\n[stores.main]\nurl = \"{url}\"\n\n\
             [transports.hooks]\nurl = \"webhook://\"\nallow = \"127.0.0.0/8\"\n\n\
             [lanes.jobs]\ncontract = \"dispatch_jobs\"\n"
        );
        std::fs::write(&config, text).expect("written");
        product::migrate(&config).await;
        let table = Self { url, port: sink.port, config, _folder: folder };
        table.execute(&["CREATE EXTENSION IF NOT EXISTS pg_stat_statements"]).await;
        table
    }

    /// Writes the same settings with a listener; returns their path.
    pub fn config(&self, listen: &str) -> PathBuf {
        let text = std::fs::read_to_string(&self.config).expect("it was written");
        let config = self.config.with_file_name("listening.toml");
        std::fs::write(&config, text.replace(&format!("\"{LISTEN}\""), &format!("\"{listen}\"")))
            .expect("written");
        config
    }

    /// Empties the tables.
    pub async fn empty(&self) {
        self.execute(&["TRUNCATE dispatch_jobs CASCADE"]).await;
    }

    /// The URL of the database.
    pub fn url(&self) -> &str {
        &self.url
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

    /// Empties the tables, fills them with due jobs and vacuums them, like tables that have been used.
    pub async fn fill(&self, jobs: Jobs, rows: u64) {
        let insert = jobs.insert(self.port, 1, rows);
        self.execute(&[
            "TRUNCATE dispatch_jobs CASCADE",
            &insert,
            "VACUUM ANALYZE dispatch_jobs",
            "VACUUM ANALYZE dispatch_attempts",
            "CHECKPOINT",
        ])
        .await;
    }

    /// The settings without a listener.
    pub fn plain_config(&self) -> &std::path::Path {
        &self.config
    }

    /// Empties the tables and fills them with due jobs of client `a`.
    pub async fn flood(&self, url: &str, rows: u64) {
        let insert = format!(
            "INSERT INTO dispatch_jobs (id, \"code\", \"source\", target_url, payload, client_id, queued_at) \
             SELECT lpad(i::text, 13, '0'), 'shop:orders:order:created', 'bench', '{url}', '{PAYLOAD}', 'a', now() \
             FROM generate_series(1, {rows}) AS i"
        );
        self.execute(&[
            "TRUNCATE dispatch_jobs CASCADE",
            &insert,
            "VACUUM ANALYZE dispatch_jobs",
            "VACUUM ANALYZE dispatch_attempts",
            "CHECKPOINT",
        ])
        .await;
    }

    /// Inserts ten due jobs of client `b`.
    pub async fn put_ten(&self, url: &str) {
        let insert = format!(
            "INSERT INTO dispatch_jobs (id, \"code\", \"source\", target_url, payload, client_id, queued_at) \
             SELECT 'B' || lpad(i::text, 12, '0'), 'shop:orders:order:created', 'bench', '{url}', '{PAYLOAD}', 'b', now() \
             FROM generate_series(1, 10) AS i"
        );
        self.execute(&[&insert]).await;
    }

    /// Waits until this many jobs have a recorded successful attempt.
    pub async fn until_attempted(&self, which: &str, jobs: u64) {
        let look = format!(
            "SELECT count(*)::float8 FROM (SELECT 1 FROM dispatch_jobs WHERE {which} AND status = 'COMPLETED' LIMIT {jobs}) AS x"
        );
        let mut connection = self.connect().await;
        while float(&mut connection, &look).await < number(jobs) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Seconds from the first insert to the last attempt of a client's jobs.
    pub async fn seconds_of(&self, client: &str) -> f64 {
        let seconds = format!(
            "SELECT extract(epoch FROM max(a.created_at) - min(j.created_at))::float8 FROM dispatch_attempts a \
             JOIN dispatch_jobs j ON j.id = a.job_id WHERE j.client_id = '{client}'"
        );
        float(&mut self.connect().await, &seconds).await
    }

    /// Runs the binary until every job to a healthy target has a recorded attempt. The time is PostgreSQL's: from the
    /// first attempt to the last, without the start of the process, or from the first creation.
    pub async fn measure(&self, jobs: Jobs, rows: u64) -> Run {
        self.fill(jobs, if jobs.meanwhile { 0 } else { rows }).await;
        self.execute(&["SELECT pg_stat_statements_reset()"]).await;
        let mut connection = self.connect().await;
        let before = commits(&mut connection).await;
        let mut worker = product::start(&self.config);
        let mut own = 0;
        if jobs.meanwhile {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let chunk = rows.div_ceil(20);
            for from in (1..=rows).step_by(usize::try_from(chunk).expect("rows fit in memory")) {
                let insert = jobs.insert(self.port, from, rows.min(from + chunk - 1));
                connection.execute(AssertSqlSafe(insert)).await.expect("created");
                own += 1;
            }
        }
        while attempted(&mut connection).await < rows {
            own += 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(worker.try_wait().expect("asked").is_none(), "postrider ended early");
        }
        // Sessions report their statistics within a second of being idle.
        tokio::time::sleep(Duration::from_millis(1200)).await;
        let commits = commits(&mut connection).await - before - f64::from(own);
        product::stop(&mut worker).await;
        let begun = if jobs.meanwhile { "min(j.created_at)" } else { "min(a.created_at)" };
        let seconds = format!(
            "SELECT extract(epoch FROM max(a.created_at) - {begun})::float8 FROM dispatch_attempts a \
             JOIN dispatch_jobs j ON j.id = a.job_id WHERE a.status = 'SUCCESS'"
        );
        let calls = "SELECT sum(calls)::float8 FROM pg_stat_statements WHERE query ILIKE '%dispatch_%' \
                     AND query NOT LIKE '%bench look%'";
        let each = |count: f64| count * 1000.0 / number(rows);
        Run {
            rate: number(rows) / float(&mut connection, &seconds).await,
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

async fn attempted(connection: &mut PgConnection) -> u64 {
    let look = "SELECT count(*) AS \"bench look\" FROM dispatch_attempts WHERE status = 'SUCCESS'";
    let row = sqlx::query(look).fetch_one(connection).await.expect("counted");
    row.get::<i64, _>(0).unsigned_abs()
}
