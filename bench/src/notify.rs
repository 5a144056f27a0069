//! Measures notifications/s on SQLite: the whole lane (join, schema, template, MIME) with a no-op sender and with
//! `smtp-sink`, and how many rows each commit of a settle writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use async_trait::async_trait;
use postrider_composers::mail_job::{Policy, Settings, UrlPattern, Zone};
use postrider_composers::{MailJobComposer, email};
use postrider_contract::Contract;
use postrider_mail::LiveTemplates;
use postrider_mail::address::parse_mailbox;
use postrider_seams::store::{Capabilities, Error, LeaseResult, Reclaimed, Settlement, SweepKind};
use postrider_seams::{ClaimedRow, Composer, Fields, Lease, Store, Transport};
use postrider_transport_smtp::{Smtp, Tls};
use sqlx::{AssertSqlSafe, Connection, Executor, SqliteConnection};
use tokio::time::Instant;

use crate::lane::{NoOp, drain, lane, limits};
use crate::report::{Figure, Report, median};
use crate::servers::{BenchTable, variable};

const BATCH: u32 = 500;
/// Writes per sent row: an update and an event.
const WRITES: u64 = 2;

/// Measures both senders with this many rows.
pub async fn run(report: Report, rounds: usize, rows: u64) {
    let contract = contract();
    let table = BenchTable::sqlite(&contract).await;
    let (mut no_op, mut sink, mut per_commit) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=rounds {
        Report::progress(&format!("round {round} of {rounds}, {rows} notifications each"));
        for (rates, transport) in [(&mut no_op, Arc::new(NoOp) as Arc<dyn Transport>), (&mut sink, smtp())] {
            fill(&table, rows).await;
            let store = Arc::new(CountingStore::new(table.store(&contract).await));
            let counting = Arc::clone(&store);
            rates.push(
                drain(lane(&contract, store, composer(&contract), transport, limits(BATCH)), rows).await,
            );
            per_commit.push(counting.rows_per_commit());
        }
    }
    report.print(&Figure::new("notify", "sqlite, no-op sender", median(&mut no_op), "rows/s"));
    report.print(&Figure::new("notify", "sqlite, smtp-sink", median(&mut sink), "rows/s"));
    report.print(&Figure::new("notify", "sqlite, rows written per commit", median(&mut per_commit), "rows"));
}

fn contract() -> Contract {
    let text = Contract::builtin("open_event_notifications").expect("a built-in");
    let mut contract =
        Contract::parse("open_event_notifications.toml", text).expect("a built-in contract is valid");
    contract.claim.batch = BATCH;
    contract
}

fn composer(contract: &Contract) -> Arc<dyn Composer> {
    let mut mail = email::Settings::new("bench");
    mail.from = Some(parse_mailbox("seats@example.org").expect("an address"));
    let stage = &contract.stages[0];
    Arc::new(MailJobComposer::new(Settings {
        mail: Arc::new(mail),
        templates: LiveTemplates::open(None, "en-US").expect("the shipped ones"),
        locale: "en-US".to_owned(),
        zone: Zone::UTC,
        manage_url: UrlPattern::parse("https://seats.example.org/s/{subscription_id}").expect("a pattern"),
        unsubscribe_url: Some(UrlPattern::parse("https://seats.example.org/u?t={token}").expect("a pattern")),
        policy: Policy {
            max_attempts: stage.attempts.max,
            lock_ttl: stage.lease.duration,
            retry_schedule: [0, 2000, 7000].map(Duration::from_millis).to_vec(),
        },
        expires: None,
    }))
}

fn smtp() -> Arc<dyn Transport> {
    let sink = variable("POSTRIDER_TEST_SMTP_SINK");
    let (host, port) = sink.split_once(':').expect("host:port");
    let mut settings = postrider_transport_smtp::Settings::new(host, Tls::None);
    settings.port = port.parse().expect("a port");
    Arc::new(Smtp::new(settings).expect("settings are right"))
}

/// Inserts events with a hundred subscribers each, like a popular section.
async fn fill(table: &BenchTable, rows: u64) {
    let BenchTable::Sqlite { path, .. } = table else { panic!("this bench is SQLite's") };
    let mut connection = SqliteConnection::connect(&format!("sqlite://{path}")).await.expect("connected");
    let numbers = format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {rows})");
    let payload = r#"{"snapshotHash":"h","courseTitle":"Introduction to Algorithms","sectionNumber":"03"}"#;
    let statements = [
        "PRAGMA busy_timeout = 10000".to_owned(),
        "DELETE FROM open_event_notifications".to_owned(),
        "DELETE FROM subscription_events".to_owned(),
        "DELETE FROM subscriptions".to_owned(),
        "DELETE FROM open_events".to_owned(),
        "INSERT OR REPLACE INTO courses VALUES (1, 'Introduction to Algorithms', '01:198:344')".to_owned(),
        "INSERT OR REPLACE INTO sections VALUES (1, 1, '03', '198', 'Mon, Thu 10:20-11:40')".to_owned(),
        format!(
            "{numbers} INSERT INTO open_events (open_event_id, section_id, term_id, campus_code, index_number, status_before, \
             status_after, event_at, dedupe_key, trace_id, payload) SELECT i, 1, '2026F', 'NB', '07214', 'Closed', 'Open', \
             datetime('now'), 'key-' || i, 'trace-' || i, '{payload}' FROM n WHERE i <= 1 + {rows} / 100"
        ),
        format!(
            "{numbers} INSERT INTO subscriptions (subscription_id, section_id, contact_value, unsubscribe_token) SELECT i, 1, \
             'to' || i || '@example.org', 'token' || i FROM n"
        ),
        format!(
            "{numbers} INSERT INTO open_event_notifications (open_event_id, subscription_id, dedupe_key) SELECT 1 + i / 100, i, \
             'key-' || (1 + i / 100) FROM n"
        ),
        "ANALYZE".to_owned(),
    ];
    for statement in statements {
        connection.execute(AssertSqlSafe(statement)).await.expect("filled");
    }
}

/// Counts settles; each is one commit.
struct CountingStore {
    store: Arc<dyn Store>,
    commits: AtomicU64,
    rows: AtomicU64,
}

impl CountingStore {
    fn new(store: Arc<dyn Store>) -> Self {
        Self { store, commits: AtomicU64::new(0), rows: AtomicU64::new(0) }
    }

    #[allow(clippy::cast_precision_loss)] // row counts are far below 2^52
    fn rows_per_commit(&self) -> f64 {
        (self.rows.load(Relaxed) * WRITES) as f64 / self.commits.load(Relaxed).max(1) as f64
    }
}

#[async_trait]
impl Store for CountingStore {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    async fn claim(&self, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        self.store.claim(limit).await
    }

    async fn load(&self, leases: &[Lease]) -> Result<Vec<Option<Fields>>, Error> {
        self.store.load(leases).await
    }

    async fn begin(&self, begun: &[Lease], others: &[Lease]) -> Result<Vec<LeaseResult>, Error> {
        self.store.begin(begun, others).await
    }

    async fn settle(&self, moves: &[Settlement]) -> Result<Vec<LeaseResult>, Error> {
        self.commits.fetch_add(1, Relaxed);
        self.rows.fetch_add(moves.len() as u64, Relaxed);
        self.store.settle(moves).await
    }

    async fn extend(&self, leases: &[Lease]) -> Result<Vec<Option<Lease>>, Error> {
        self.store.extend(leases).await
    }

    async fn reclaim(&self, limit: u32) -> Result<Reclaimed, Error> {
        self.store.reclaim(limit).await
    }

    async fn release_lost_claims(&self, held: &[Lease]) -> Result<u64, Error> {
        self.store.release_lost_claims(held).await
    }

    async fn sweep(&self, sweep: SweepKind, limit: u32) -> Result<u64, Error> {
        self.store.sweep(sweep, limit).await
    }

    async fn purge(&self, limit: u32) -> Result<u64, Error> {
        self.store.purge(limit).await
    }

    async fn next_due(&self) -> Result<Option<Duration>, Error> {
        self.store.next_due().await
    }

    async fn wake(&self, deadline: Instant) {
        self.store.wake(deadline).await;
    }

    async fn lock(&self, name: &str, ttl: Duration) -> Result<bool, Error> {
        self.store.lock(name, ttl).await
    }

    async fn unlock(&self, name: &str) -> Result<(), Error> {
        self.store.unlock(name).await
    }

    async fn paused(&self, lane: &str) -> Result<bool, Error> {
        self.store.paused(lane).await
    }

    async fn set_paused(&self, lane: &str, paused: bool) -> Result<(), Error> {
        self.store.set_paused(lane, paused).await
    }
}
