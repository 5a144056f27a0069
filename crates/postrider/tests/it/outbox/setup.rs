//! A table in a database, a broker, and the lane between them.

use super::broker::Broker;
use crate::sandbox::{RunningBinary, Sandbox};
use crate::support::database::{Kind, fresh};
use crate::support::sql::{Cell, Sql};
use crate::support::wait::{TIMEOUT, wait_until};

pub struct OutboxLane {
    pub sandbox: Sandbox,
    pub sql: Sql,
}

/// A row to insert.
#[derive(Debug, Clone, Default)]
pub struct Event<'a> {
    pub topic: &'a str,
    pub key: Option<&'a str>,
    pub payload: &'a str,
    pub dedupe: &'a str,
}

/// The columns of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub status: String,
    pub retries: u32,
    pub error: Option<String>,
    pub finished: bool,
}

impl OutboxLane {
    /// Opens a migrated installation; `more` are lines of the lane's table.
    pub async fn open(kind: Kind, broker: &Broker, more: &str) -> Self {
        Self::open_with(kind, &format!("url = \"{}\"", broker.url), more).await
    }

    /// Opens a migrated installation with all lines of the transport.
    pub async fn open_with(kind: Kind, transport: &str, more: &str) -> Self {
        let sandbox = Sandbox::new(None);
        let (url, sql) = fresh(kind, "outbox", &sandbox).await;
        let settings = format!(
            "[stores.main]\nurl = \"{url}\"\n[transports.broker]\n{transport}\n\
             [lanes.events]\ncontract = \"outbox\"\npoll = \"100ms\"\nsweep = \"200ms\"\n{more}\n"
        );
        std::fs::write(sandbox.path("postrider.toml"), settings).unwrap();
        sandbox.run(&["migrate"]).success();
        Self { sandbox, sql }
    }

    /// Inserts a row as an application does, with a time some seconds ago: only old rows are claimed (O1).
    pub async fn insert(&self, event: &Event<'_>) {
        let mut cells = vec![
            ("idempotency_key", Cell::from(event.dedupe)),
            ("topic", Cell::from(event.topic)),
            ("payload", Cell::from(event.payload)),
            ("created_at", Cell::Sql(self.ago(5))),
        ];
        cells.extend(event.key.map(|key| ("partition_key", Cell::from(key))));
        self.sql.insert("outbox", &cells).await;
    }

    /// An expression for a time this many seconds ago.
    pub fn ago(&self, seconds: u32) -> String {
        match &self.sql {
            Sql::Postgres(_) => format!("now() - interval '{seconds} seconds'"),
            Sql::MariaDb(_) => format!("UTC_TIMESTAMP(6) - INTERVAL {seconds} SECOND"),
            Sql::Sqlite(_) => format!("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-{seconds} seconds')"),
        }
    }

    pub async fn row(&self, dedupe: &str) -> Row {
        let columns = ["status", "retry_count", "last_error", "processed_at"].map(|name| self.sql.text(name));
        let query = format!("SELECT {} FROM outbox WHERE idempotency_key = '{dedupe}'", columns.join(", "));
        let rows = self.sql.rows(&query).await.expect("the table can be read");
        let [status, retries, error, finished] = rows[0].as_slice() else { panic!("four columns") };
        Row {
            status: status.clone().expect("NOT NULL"),
            retries: retries.as_deref().expect("NOT NULL").parse().expect("a number"),
            error: error.clone(),
            finished: finished.is_some(),
        }
    }

    /// Returns the row once it is in that state.
    pub async fn eventually(&self, dedupe: &str, status: &str) -> Row {
        let what = format!("row {dedupe} is {status}");
        let found = wait_until(&what, TIMEOUT, || async {
            let row = self.row(dedupe).await;
            (row.status == status).then_some(row)
        });
        found.await
    }

    pub async fn count(&self, status: &str) -> u64 {
        self.sql.count(&format!("outbox WHERE status = '{status}'")).await.expect("the database is there")
    }

    pub async fn wait_for_count(&self, status: &str, wanted: u64) {
        let what = format!("{wanted} rows are {status}");
        wait_until(&what, TIMEOUT, || async { (self.count(status).await == wanted).then_some(()) }).await;
    }

    pub fn start(&self) -> RunningBinary {
        self.sandbox.start()
    }
}
