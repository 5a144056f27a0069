//! Measures the time from the commit of an insert to the delivery to the transport, on PostgreSQL with the notification
//! trigger, and from a request to the API to the webhook's arrival, without one; both at a steady 100 per second.

mod api;
mod trigger;

use std::sync::Arc;
use std::time::Duration;

use postrider_composers::NullComposer;
use postrider_engine::Engine;
use postrider_seams::ThreadDice;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use tokio::time::Instant;

use crate::lane::{Recorder, contract, lane, limits};
use crate::report::{Figure, Report, median, percentile};
use crate::servers::{BenchTable, SUBJECT};

const PER_SECOND: u64 = 100;

/// Measures for this many seconds per round.
pub async fn run(report: Report, rounds: usize, seconds: u64) {
    let contract = contract(500);
    let table = BenchTable::postgres(&contract).await;
    let api = api::ApiBench::start().await;
    let (mut inserts, mut requests) = (Rounds::default(), Rounds::default());
    for round in 1..=rounds {
        Report::progress(&format!("round {round} of {rounds}, {seconds} s at {PER_SECOND} rows/s"));
        inserts.add(one_round(&table, &contract, seconds).await);
        Report::progress(&format!("round {round} of {rounds}, {seconds} s at {PER_SECOND} requests/s"));
        requests.add(api.one_round(seconds).await);
    }
    inserts.print(report, "insert to hand-over");
    requests.print(report, "API to webhook received");
    trigger::run(report, rounds, &table).await;
}

/// The latencies of all rounds, in milliseconds.
#[derive(Default)]
struct Rounds {
    middle: Vec<f64>,
    late: Vec<f64>,
    all: Vec<f64>,
}

impl Rounds {
    fn add(&mut self, mut millis: Vec<f64>) {
        self.middle.push(percentile(&mut millis, 0.5));
        self.late.push(percentile(&mut millis, 0.99));
        self.all.append(&mut millis);
    }

    fn print(mut self, report: Report, case: &str) {
        report.print(&Figure::new("latency", format!("{case}, p50"), median(&mut self.middle), "ms"));
        report.print(&Figure::new("latency", format!("{case}, p99"), median(&mut self.late), "ms"));
        for (bound, share) in histogram(&self.all) {
            report.print(&Figure::new("latency", format!("{case}, {bound}"), share * 100.0, "%"));
        }
    }
}

/// The bounds of a histogram, in milliseconds.
const BOUNDS: [f64; 10] = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0, f64::INFINITY];

/// The share of each range that occurs.
#[allow(clippy::cast_precision_loss)] // a few thousand figures
fn histogram(millis: &[f64]) -> Vec<(String, f64)> {
    let mut from = 0.0;
    let ranges = BOUNDS.map(|bound| {
        let count = millis.iter().filter(|one| (from..bound).contains(*one)).count();
        let name =
            if bound.is_finite() { format!("{from} to {bound} ms") } else { format!("{from} ms and more") };
        from = bound;
        (name, count as f64 / millis.len().max(1) as f64)
    });
    ranges.into_iter().filter(|(_, share)| *share > 0.0).collect()
}

/// Returns the ticks of the steady rate.
fn pace() -> tokio::time::Interval {
    tokio::time::interval(Duration::from_millis(1000 / PER_SECOND))
}

async fn one_round(table: &BenchTable, contract: &postrider_contract::Contract, seconds: u64) -> Vec<f64> {
    let BenchTable::Postgres { url, .. } = table else { unreachable!("the bench runs on PostgreSQL") };
    table.fill(0, "").await;
    let recorder = Arc::new(Recorder::default());
    let engine = Engine::new(Arc::new(ThreadDice));
    engine.start(lane(
        contract,
        table.store(contract).await,
        Arc::new(NullComposer),
        recorder.clone(),
        limits(500),
    ));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let inserted = produce(url, seconds).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    engine.drain(Duration::from_secs(10)).await;
    let seen = recorder.seen.lock().expect("no panic holds it");
    inserted
        .into_iter()
        .map(|(id, at)| {
            let handed = seen.get(&id).unwrap_or_else(|| panic!("row {id} was never handed over"));
            handed.saturating_duration_since(at).as_secs_f64() * 1000.0
        })
        .collect()
}

/// Inserts at a steady rate; returns each row's key and the time of its commit.
async fn produce(url: &str, seconds: u64) -> Vec<(String, Instant)> {
    let mut connection = PgConnection::connect(url).await.expect("connected");
    let insert = format!(
        "INSERT INTO mail_outbox (status, retry_count, next_attempt_at, created_at, to_addresses, subject) \
         VALUES ('queued', 0, now(), now(), 'to@example.org', '{SUBJECT}') RETURNING id::text"
    );
    let mut pace = pace();
    let mut inserted = Vec::new();
    for _ in 0..seconds * PER_SECOND {
        pace.tick().await;
        // Take the time before the insert, so that the commit's own time is included.
        let at = Instant::now();
        let row =
            sqlx::query(AssertSqlSafe(insert.as_str())).fetch_one(&mut connection).await.expect("inserted");
        inserted.push((row.get::<String, _>(0), at));
    }
    inserted
}
