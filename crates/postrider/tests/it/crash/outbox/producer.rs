//! An application that writes events of many keys in rotation, while workers and broker fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rand::Rng as _;
use rand::rngs::StdRng;
use tokio::task::JoinHandle;

use super::setup::OutboxSetup;
use crate::crash::parameters::CrashParameters;
use crate::support::sql::Sql;

pub const KEYS: u32 = 50;

/// Writes rows up to a limit that the test raises, so that the next worker to be killed always has work.
pub struct Producer {
    rows: u32,
    allowed: Arc<AtomicU32>,
    writing: JoinHandle<()>,
}

impl Producer {
    pub fn start(setup: &OutboxSetup, parameters: &CrashParameters) -> Self {
        let allowed = Arc::new(AtomicU32::new(0));
        let writer = Writer { sql: setup.sql.clone(), topic: setup.broker.topic(), rng: parameters.rng(1) };
        let writing = tokio::spawn(writer.write(parameters.rows, Arc::clone(&allowed)));
        Self { rows: parameters.rows, allowed, writing }
    }

    /// Allows another `percent` of all rows; returns whether any were left.
    pub fn allow(&self, percent: u32) -> bool {
        self.allowed.fetch_add((self.rows * percent).div_ceil(100), Ordering::Relaxed) < self.rows
    }

    /// Allows the remaining rows and waits until they are written.
    pub async fn finish(self) {
        self.allowed.store(self.rows, Ordering::Relaxed);
        self.writing.await.expect("the producer wrote all its rows");
    }
}

struct Writer {
    sql: Sql,
    topic: &'static str,
    rng: StdRng,
}

impl Writer {
    async fn write(mut self, rows: u32, allowed: Arc<AtomicU32>) {
        let mut written = 0;
        while written < rows {
            let limit = allowed.load(Ordering::Relaxed).min(rows);
            if written >= limit {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
            let until = (written + self.rng.random_range(1..=200)).min(limit);
            let values: Vec<String> = (written..until).map(|number| self.row(number)).collect();
            let insert =
                "INSERT INTO outbox (idempotency_key, topic, partition_key, payload, created_at) VALUES";
            self.sql.must(&format!("{insert} {}", values.join(", "))).await;
            written = until;
        }
    }

    fn row(&self, number: u32) -> String {
        let (key, payload, topic, now) = (key(number), payload(number), self.topic, self.sql.now());
        format!("('event-{number:06}', '{topic}', '{key}', '{payload}', {now})")
    }
}

pub fn key(number: u32) -> String {
    format!("deal-{:02}", number % KEYS)
}

/// A payload of usual size; its number identifies the row.
pub fn payload(number: u32) -> String {
    format!(
        r#"{{"number": {number}, "text": "{}"}}"#,
        "something happened to this deal, and others must know. ".repeat(2)
    )
}
