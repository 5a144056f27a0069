//! What the notification trigger costs a producer: single inserts per second with and without it, from one connection
//! and from sixteen.

use futures::future::join_all;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tokio::time::Instant;

use crate::lane::rate;
use crate::report::{Figure, Report, median};
use crate::servers::{BenchTable, SUBJECT};

const INSERTS: u64 = 2000;

/// Measures both, interleaved.
pub async fn run(report: Report, rounds: usize, table: &BenchTable) {
    let BenchTable::Postgres { url, .. } = table else { unreachable!("the bench runs on PostgreSQL") };
    for connections in [1, 16] {
        let mut rates = [Vec::new(), Vec::new()];
        for round in 1..=rounds {
            Report::progress(&format!("round {round} of {rounds}, inserts from {connections} connections"));
            for (with, rates) in rates.iter_mut().enumerate() {
                table.fill(0, "").await;
                set_trigger(url, with == 1).await;
                rates.push(inserts(url, connections).await);
            }
        }
        let [without, with] = rates.map(|mut rates| median(&mut rates));
        let case = format!("inserts with the trigger, {connections} connections");
        report.print(&Figure::new("latency", case, with, "rows/s").compared_with("without it", without));
    }
}

async fn set_trigger(url: &str, enabled: bool) {
    let verb = if enabled { "ENABLE" } else { "DISABLE" };
    let mut connection = PgConnection::connect(url).await.expect("connected");
    let alter = format!("ALTER TABLE mail_outbox {verb} TRIGGER postrider_mail_outbox");
    connection.execute(AssertSqlSafe(alter)).await.expect("the trigger is there");
}

/// Inserts rows in transactions of their own; returns rows per second.
async fn inserts(url: &str, connections: u64) -> f64 {
    let insert = format!(
        "INSERT INTO mail_outbox (status, retry_count, next_attempt_at, created_at, to_addresses, subject) \
         VALUES ('queued', 0, now(), now(), 'to@example.org', '{SUBJECT}')"
    );
    let opened = join_all((0..connections).map(|_| PgConnection::connect(url))).await;
    let start = Instant::now();
    let work = opened.into_iter().map(|connection| {
        let insert = insert.clone();
        tokio::spawn(async move {
            let mut connection = connection.expect("connected");
            for _ in 0..INSERTS / connections {
                let query = sqlx::query(AssertSqlSafe(insert.as_str()));
                query.execute(&mut connection).await.expect("inserted");
            }
        })
    });
    for ended in join_all(work).await {
        ended.expect("no panic");
    }
    rate(INSERTS, start.elapsed())
}
