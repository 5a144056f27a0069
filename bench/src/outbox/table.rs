//! Fills the table for a round, and drains it with the real binary.

use super::broker::{Broker, PAYLOAD, TOPIC};
use crate::postgres::{BenchDatabase, MeasuredRun, Measurement, OWN_QUERY};

/// The rows in front of those that can be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockedFront {
    Nothing,
    /// Older rows of this many keys, whose first rows wait for their next attempt.
    Keys(u64),
}

/// The outbox table on PostgreSQL.
pub struct OutboxTable(BenchDatabase);

impl OutboxTable {
    /// Creates the table, and the settings of the binary for this broker.
    pub async fn create(broker: &Broker) -> Self {
        let settings = |url: &str| {
            format!(
                "[server]\nlisten = \"off\"\n\n[stores.main]\nurl = \"{url}\"\n\n\
                 [transports.broker]\nurl = \"{}\"\n\n[lanes.outbox]\ncontract = \"outbox\"\n",
                broker.url()
            )
        };
        Self(BenchDatabase::create("bench_outbox", settings).await)
    }

    /// Empties the table, fills it with due rows and vacuums it, like a table that has been used.
    pub async fn fill(&self, rows: u64, keys: u64, front: BlockedFront, blocked: u64) {
        let columns =
            "idempotency_key, topic, partition_key, payload, created_at, retry_count, next_attempt_at";
        let key = if keys == 0 { "NULL".to_owned() } else { format!("'key-' || i % {keys}") };
        let due = format!(
            "INSERT INTO outbox ({columns}) SELECT 'row-' || i, '{TOPIC}', {key}, repeat('x', {PAYLOAD}), \
             now() - interval '1 minute' + i * interval '1 microsecond', 0, NULL FROM generate_series(1, {rows}) AS i"
        );
        let held = match front {
            BlockedFront::Nothing => "SELECT 1".to_owned(),
            BlockedFront::Keys(keys) => format!(
                "INSERT INTO outbox ({columns}) SELECT 'held-' || i, '{TOPIC}', 'held-' || i % {keys}, repeat('x', {PAYLOAD}), \
                 now() - interval '1 hour' + i * interval '1 microsecond', CASE WHEN i <= {keys} THEN 1 ELSE 0 END, \
                 CASE WHEN i <= {keys} THEN now() + interval '1 day' END FROM generate_series(1, {blocked}) AS i"
            ),
        };
        let age = ["VACUUM ANALYZE outbox", "CHECKPOINT"];
        self.0.execute(&["TRUNCATE outbox", &held, &due, age[0], age[1]]).await;
    }

    /// Runs the binary until every row that can be delivered is. The time is PostgreSQL's, from the first settle to the
    /// last, without the start of the process.
    pub async fn drain(&self, rows: u64) -> Measurement {
        let mut run = MeasuredRun::start(&self.0).await;
        let delivered = format!("SELECT count(*) AS \"{OWN_QUERY}\" FROM outbox WHERE status = 'DELIVERED'");
        run.wait_for(&delivered, rows).await;
        let seconds = "SELECT extract(epoch FROM max(processed_at) - min(processed_at))::float8 FROM outbox";
        run.finish(rows, seconds, "outbox").await
    }
}
