//! Fills the tables for a round, and drains them with the real binary.

use std::path::PathBuf;
use std::time::Duration;

use super::sink::Sink;
use crate::postgres::{BenchDatabase, MeasuredRun, Measurement, OWN_QUERY, number, query_float};

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
    while_running: bool,
}

impl Jobs {
    /// Jobs to this many healthy targets.
    pub const fn to(targets: u64) -> Self {
        Self { targets, hanging: 0, while_running: false }
    }

    /// The same jobs, created while the binary runs.
    pub const fn created_while_running(self) -> Self {
        Self { while_running: true, ..self }
    }

    /// The same jobs, with this many hanging targets.
    pub const fn with_hanging(self, hanging: u64) -> Self {
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

/// The tables of webhook jobs on PostgreSQL.
pub struct JobTables {
    database: BenchDatabase,
    port: u16,
}

impl JobTables {
    /// Creates the tables and the settings of the binary.
    pub async fn create(sink: &Sink) -> Self {
        let settings = |url: &str| {
            format!(
                "[server]\nlisten = \"{LISTEN}\"\n\n[stores.main]\nurl = \"{url}\"\n\n\
                 [transports.hooks]\nurl = \"webhook://\"\nallow = \"127.0.0.0/8\"\n\n\
                 [lanes.jobs]\ncontract = \"dispatch_jobs\"\n"
            )
        };
        Self { database: BenchDatabase::create("bench_webhook", settings).await, port: sink.port }
    }

    /// Writes the same settings with a listener; returns their path.
    pub fn config_with_listener(&self, listen: &str) -> PathBuf {
        let text = std::fs::read_to_string(&self.database.config).expect("it was written");
        let config = self.database.config.with_file_name("listening.toml");
        std::fs::write(&config, text.replace(&format!("\"{LISTEN}\""), &format!("\"{listen}\"")))
            .expect("written");
        config
    }

    /// Empties the tables.
    pub async fn empty(&self) {
        self.database.execute(&["TRUNCATE dispatch_jobs CASCADE"]).await;
    }

    /// The URL of the database.
    pub fn url(&self) -> &str {
        &self.database.url
    }

    /// Empties the tables, runs the insert and vacuums them, like tables that have been used.
    async fn refill(&self, insert: &str) {
        self.database
            .execute(&[
                "TRUNCATE dispatch_jobs CASCADE",
                insert,
                "VACUUM ANALYZE dispatch_jobs",
                "VACUUM ANALYZE dispatch_attempts",
                "CHECKPOINT",
            ])
            .await;
    }

    /// Empties the tables and fills them with due jobs.
    pub async fn fill(&self, jobs: Jobs, rows: u64) {
        let insert = jobs.insert(self.port, 1, rows);
        self.refill(&insert).await;
    }

    /// The settings without a listener.
    pub fn config_without_listener(&self) -> &std::path::Path {
        &self.database.config
    }

    /// Empties the tables and fills them with due jobs of client `a`.
    pub async fn fill_for_one_client(&self, url: &str, rows: u64) {
        let insert = format!(
            "INSERT INTO dispatch_jobs (id, \"code\", \"source\", target_url, payload, client_id, queued_at) \
             SELECT lpad(i::text, 13, '0'), 'shop:orders:order:created', 'bench', '{url}', '{PAYLOAD}', 'a', now() \
             FROM generate_series(1, {rows}) AS i"
        );
        self.refill(&insert).await;
    }

    /// Inserts ten due jobs of client `b`.
    pub async fn insert_ten(&self, url: &str) {
        let insert = format!(
            "INSERT INTO dispatch_jobs (id, \"code\", \"source\", target_url, payload, client_id, queued_at) \
             SELECT 'B' || lpad(i::text, 12, '0'), 'shop:orders:order:created', 'bench', '{url}', '{PAYLOAD}', 'b', now() \
             FROM generate_series(1, 10) AS i"
        );
        self.database.execute(&[&insert]).await;
    }

    /// Waits until this many jobs have a recorded successful attempt.
    pub async fn wait_until_attempted(&self, which: &str, jobs: u64) {
        let query = format!(
            "SELECT count(*)::float8 FROM (SELECT 1 FROM dispatch_jobs WHERE {which} AND status = 'COMPLETED' LIMIT {jobs}) AS x"
        );
        let mut connection = self.database.connect().await;
        while query_float(&mut connection, &query).await < number(jobs) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Seconds from the first insert to the last attempt of a client's jobs.
    pub async fn delivery_seconds(&self, client: &str) -> f64 {
        let seconds = format!(
            "SELECT extract(epoch FROM max(a.created_at) - min(j.created_at))::float8 FROM dispatch_attempts a \
             JOIN dispatch_jobs j ON j.id = a.job_id WHERE j.client_id = '{client}'"
        );
        query_float(&mut self.database.connect().await, &seconds).await
    }

    /// Runs the binary until every job to a healthy target has a recorded attempt. The time is PostgreSQL's: from the
    /// first attempt to the last, without the start of the process, or from the first creation.
    pub async fn measure(&self, jobs: Jobs, rows: u64) -> Measurement {
        self.fill(jobs, if jobs.while_running { 0 } else { rows }).await;
        let mut run = MeasuredRun::start(&self.database).await;
        if jobs.while_running {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let chunk = rows.div_ceil(20);
            for from in (1..=rows).step_by(usize::try_from(chunk).expect("rows fit in memory")) {
                run.execute(jobs.insert(self.port, from, rows.min(from + chunk - 1))).await;
            }
        }
        let attempted =
            format!("SELECT count(*) AS \"{OWN_QUERY}\" FROM dispatch_attempts WHERE status = 'SUCCESS'");
        run.wait_for(&attempted, rows).await;
        let begun = if jobs.while_running { "min(j.created_at)" } else { "min(a.created_at)" };
        let seconds = format!(
            "SELECT extract(epoch FROM max(a.created_at) - {begun})::float8 FROM dispatch_attempts a \
             JOIN dispatch_jobs j ON j.id = a.job_id WHERE a.status = 'SUCCESS'"
        );
        run.finish(rows, &seconds, "dispatch_").await
    }
}
