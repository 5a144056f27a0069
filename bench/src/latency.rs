//! Measures the time from the commit of an insert to the delivery to the transport, on PostgreSQL with the notification
//! trigger, at a steady 100 rows/s.

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
    let (mut middle, mut late) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        Report::progress(&format!("round {round} of {rounds}, {seconds} s at {PER_SECOND} rows/s"));
        let mut millis = one_round(&table, &contract, seconds).await;
        middle.push(percentile(&mut millis, 0.5));
        late.push(percentile(&mut millis, 0.99));
    }
    report.print(&Figure::new("latency", "insert to hand-over, p50", median(&mut middle), "ms"));
    report.print(&Figure::new("latency", "insert to hand-over, p99", median(&mut late), "ms"));
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

/// Inserts at a steady rate; returns each row's key and the time of its insert.
async fn produce(url: &str, seconds: u64) -> Vec<(String, Instant)> {
    let mut connection = PgConnection::connect(url).await.expect("connected");
    let insert = format!(
        "INSERT INTO mail_outbox (status, retry_count, next_attempt_at, created_at, to_addresses, subject) \
         VALUES ('queued', 0, now(), now(), 'to@example.org', '{SUBJECT}') RETURNING id::text"
    );
    let mut pace = tokio::time::interval(Duration::from_millis(1000 / PER_SECOND));
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
