//! Two lanes on PostgreSQL, filled with millions of rows, and the settings of the binary that serves them.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use http_body_util::BodyExt as _;
use sqlx::{Executor as _, Row as _};

use super::ConsoleClient;
use crate::binary;
use crate::postgres::BenchDatabase;

/// The database with both lanes, and the settings of the binary.
pub struct ConsoleSetup {
    database: BenchDatabase,
    /// The URL of the listener.
    pub base: String,
}

impl ConsoleSetup {
    /// Creates the tables, empty.
    pub async fn create() -> Self {
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let settings = |url: &str| {
            format!(
                "[server]\nlisten = \"127.0.0.1:{port}\"\napi = \"main\"\n\n[stores.main]\nurl = \"{url}\"\n\n\
                 [transports.folder]\nurl = \"file:outbox\"\n\n[mail]\nfrom = \"shop@example.com\"\n\n\
                 [transports.hooks]\nurl = \"webhook://\"\n\n\
                 [lanes.mail]\ncontract = \"mail_outbox\"\ntransport = \"folder\"\n\n\
                 [lanes.jobs]\ncontract = \"dispatch_jobs\"\ntransport = \"hooks\"\n"
            )
        };
        let database = BenchDatabase::create("bench_console", settings).await;
        Self { database, base: format!("http://127.0.0.1:{port}") }
    }

    /// The settings of the binary.
    pub fn config(&self) -> &Path {
        &self.database.config
    }

    async fn execute(&self, statement: &str) {
        self.database.execute(&[statement]).await;
    }

    /// Fills both lanes with this many rows.
    pub async fn fill(&self, rows: u64) {
        self.without_indexes("mail_outbox").await;
        self.without_indexes("dispatch_jobs").await;
        self.execute(&mails(rows)).await;
        self.execute(&jobs(rows)).await;
        binary::migrate(self.config()).await;
        for statement in job_details(rows) {
            self.execute(&statement).await;
        }
        self.execute("VACUUM ANALYZE").await;
        self.execute("CHECKPOINT").await;
    }

    /// Drops the indexes before the inserts; `migrate` adds them again, which is faster for millions of rows.
    async fn without_indexes(&self, table: &str) {
        let drop = format!(
            "DO $$ DECLARE i text; BEGIN FOR i IN SELECT x.indexrelid::regclass::text FROM pg_index x \
             WHERE x.indrelid = '{table}'::regclass AND NOT x.indisprimary \
             AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = x.indexrelid) \
             LOOP EXECUTE 'DROP INDEX ' || i; END LOOP; END $$"
        );
        self.execute(&drop).await;
    }

    /// Milliseconds that the database worked in a minute, with or without an open overview.
    pub async fn database_millis_per_minute(&self, viewer: Option<&ConsoleClient>) -> f64 {
        self.execute("SELECT pg_stat_statements_reset()").await;
        let minute = tokio::time::sleep(Duration::from_mins(1));
        match viewer {
            None => minute.await,
            Some(caller) => {
                let request = caller.request("GET", "/api/v1/overview/stream", "");
                let mut stream = caller.web.request(request).await.expect("the stream opens").into_body();
                let reading = async { while stream.frame().await.is_some() {} };
                tokio::select! { () = minute => {}, () = reading => panic!("the stream ended") }
            }
        }
        let mut connection = self.database.connect().await;
        let sum = "SELECT coalesce(sum(total_exec_time), 0)::float8 FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid \
                   WHERE d.datname = current_database() AND query NOT LIKE '%pg_stat_statements%'";
        connection.fetch_one(sum).await.expect("a sum").get(0)
    }
}

/// Mails of which nine in ten are sent, one in a hundred failed, and the newest wait until the next century.
fn mails(rows: u64) -> String {
    let state = format!(
        "CASE WHEN i > {} THEN 'queued' WHEN i % 100 = 7 THEN 'failed' ELSE 'sent' END",
        rows / 10 * 9
    );
    format!(
        "INSERT INTO mail_outbox (status, retry_count, next_attempt_at, last_error, to_addresses, subject, body_text, \
         idempotency_key, created_at, sent_at) SELECT s, CASE s WHEN 'queued' THEN 0 ELSE 1 END, '2099-01-01', \
         CASE s WHEN 'failed' THEN '550 no such user' END, 'someone' || i || '@example.com', 'Order ' || i, \
         repeat('Thank you. ', 20), 'key-' || i, now() - interval '1 day', CASE s WHEN 'sent' THEN now() END \
         FROM (SELECT i, {state} AS s FROM generate_series(1, {rows}) AS i) AS made"
    )
}

/// Jobs of twenty clients in the same states; one in ten belongs to a small group.
fn jobs(rows: u64) -> String {
    let state = format!(
        "CASE WHEN i > {} THEN 'QUEUED' WHEN i % 100 = 7 THEN 'ERROR' ELSE 'COMPLETED' END",
        rows / 10 * 9
    );
    format!(
        "INSERT INTO dispatch_jobs (id, \"code\", \"source\", target_url, payload, client_id, message_group, \"status\", \
         next_attempt_at, attempt_count, last_error, queued_at, created_at) SELECT lpad(i::text, 13, '0'), \
         'shop:orders:order:created' || i % 50, 'bench', 'https://example.com/hook', repeat('Thank you. ', 20), \
         'client-' || i % 20, CASE WHEN i % 10 = 0 THEN 'order-' || i / 50 END, s, \
         CASE s WHEN 'QUEUED' THEN timestamptz '2099-01-01' END, CASE s WHEN 'QUEUED' THEN 0 ELSE 1 END, \
         CASE s WHEN 'ERROR' THEN '500 from example.com' END, now(), now() - interval '1 day' + i * interval '1 ms' \
         FROM (SELECT i, {state} AS s FROM generate_series(1, {rows}) AS i) AS made"
    )
}

/// Attempts, metadata and events: one per ten jobs.
fn job_details(rows: u64) -> [String; 3] {
    let tenth = rows / 10;
    [
        format!(
            "INSERT INTO dispatch_attempts (id, job_id, attempt_number, \"status\", response_code) \
             SELECT lpad(i::text, 13, '0'), lpad((i * 10)::text, 13, '0'), 1, 'SUCCESS', 200 FROM generate_series(1, {tenth}) AS i"
        ),
        format!(
            "INSERT INTO dispatch_job_metadata (id, job_id, \"key\", \"value\") \
             SELECT lpad(i::text, 13, '0'), lpad((i * 10)::text, 13, '0'), 'order', i % 1000 FROM generate_series(1, {tenth}) AS i"
        ),
        format!(
            "INSERT INTO dispatch_events (id, event_id, \"source\", \"code\", client_id, data, extensions) \
             SELECT lpad(i::text, 13, '0'), i, 'bench', 'shop:orders:order:created' || i % 50, 'client-' || i % 20, '{{}}', '{{}}' \
             FROM generate_series(1, {tenth}) AS i"
        ),
    ]
}
