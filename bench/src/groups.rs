//! Measures rows/s claimed and settled from ordered groups at the store: with and without 100,000 rows of held groups
//! in front (few long groups, and many short ones), and with and without an old transaction that prevents vacuuming.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use postrider_contract::Contract;
use postrider_seams::Store;
use postrider_seams::store::Settlement;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::time::Instant;

use crate::lane::{delivered, rate};
use crate::report::{Figure, Report, median};
use crate::servers::BenchTable;

const BATCH: u32 = 500;

/// The obstacles in front of the rows that may be claimed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Case {
    Nothing,
    /// 100 held groups of 1,000 rows.
    Long,
    /// 100,000 held groups of one row.
    Many,
    /// No obstacle, but the rows are in few groups.
    Few,
    /// Few groups, while a transaction that began before the drain stays open.
    Pinned,
}

impl Case {
    const ALL: [Self; 5] = [Self::Nothing, Self::Long, Self::Many, Self::Few, Self::Pinned];

    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing held",
            Self::Long => "100 groups x 1,000 held",
            Self::Many => "100,000 groups x 1 held",
            Self::Few => "20 groups",
            Self::Pinned => "20 groups, old transaction open",
        }
    }

    /// The same case without its obstacle.
    fn baseline(self) -> Self {
        match self {
            Self::Nothing | Self::Long | Self::Many => Self::Nothing,
            Self::Few | Self::Pinned => Self::Few,
        }
    }

    /// The number of held groups in front.
    fn held(self) -> u64 {
        match self {
            Self::Long => 100,
            Self::Many => 100_000,
            Self::Nothing | Self::Few | Self::Pinned => 0,
        }
    }

    /// The number of groups that may be claimed.
    fn free(self) -> u64 {
        if self.baseline() == Self::Few { 20 } else { 200 }
    }
}

/// Measures all cases.
pub async fn run(report: Report, rounds: usize, rows: u64) {
    let text = Contract::builtin("outbox").expect("a built-in");
    let contract = Contract::parse("outbox.toml", text).expect("a built-in contract is valid");
    let table = BenchTable::postgres(&contract).await;
    let BenchTable::Postgres { url, .. } = &table else { unreachable!("asked for PostgreSQL") };
    for workers in [1, 4] {
        let mut rates: BTreeMap<Case, Vec<f64>> = BTreeMap::new();
        for round in 1..=rounds {
            for case in Case::ALL {
                Report::progress(&format!("{workers} workers, {}, round {round} of {rounds}", case.name()));
                fill(url, rows, case).await;
                let pin = if case == Case::Pinned { Some(pin(url).await) } else { None };
                rates.entry(case).or_default().push(drain(&table, &contract, workers, rows).await);
                drop(pin);
            }
        }
        let medians: BTreeMap<Case, f64> =
            rates.into_iter().map(|(case, mut rates)| (case, median(&mut rates))).collect();
        for (case, rate) in &medians {
            let figure =
                Figure::new("groups", format!("{workers} workers, {}", case.name()), *rate, "rows/s");
            let baseline = case.baseline();
            report.print(&if *case == baseline {
                figure
            } else {
                figure.compared_with(baseline.name(), medians[&baseline])
            });
        }
    }
}

/// Opens a transaction with a snapshot from before the drain: while it is open, no row version that it sees is removed.
async fn pin(url: &str) -> PgConnection {
    let mut connection = PgConnection::connect(url).await.expect("connected");
    for statement in ["BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM outbox"] {
        connection.execute(statement).await.expect("a snapshot taken");
    }
    connection
}

/// Inserts held groups first, by key and by time, then `rows` due rows of free groups in rotation.
async fn fill(url: &str, rows: u64, case: Case) {
    let columns = "topic, partition_key, payload, status, created_at, next_attempt_at";
    let payload = "x".repeat(200);
    let (groups, free) = (case.held(), case.free());
    let free = format!(
        "INSERT INTO outbox ({columns}) SELECT 'events', 'k-' || md5((n % {free})::text), '{payload}', 'PENDING', \
         now() - interval '1 hour' + n * interval '1 millisecond', NULL FROM generate_series(1, {rows}) AS n"
    );
    let front = format!(
        "INSERT INTO outbox ({columns}) SELECT 'events', 'a-' || md5((n % {})::text), '{payload}', 'PENDING', \
         now() - interval '2 hours' + n * interval '1 millisecond', \
         CASE WHEN n <= {groups} THEN now() + interval '1 hour' END FROM generate_series(1, 100000) AS n",
        groups.max(1)
    );
    let mut connection = PgConnection::connect(url).await.expect("connected");
    connection.execute("TRUNCATE outbox").await.expect("emptied");
    if groups > 0 {
        connection.execute(AssertSqlSafe(front)).await.expect("filled");
    }
    connection.execute(AssertSqlSafe(free)).await.expect("filled");
    for statement in ["VACUUM ANALYZE outbox", "CHECKPOINT"] {
        connection.execute(statement).await.expect("settled down");
    }
}

/// Claims and settles with several workers, each with its own store, until `rows` are delivered.
async fn drain(table: &BenchTable, contract: &Contract, workers: usize, rows: u64) -> f64 {
    let done = Arc::new(AtomicU64::new(0));
    let mut stores = Vec::with_capacity(workers);
    for _ in 0..workers {
        stores.push(table.store(contract).await);
    }
    let started = Instant::now();
    let tasks: Vec<_> = stores
        .into_iter()
        .map(|store| {
            let done = Arc::clone(&done);
            tokio::spawn(async move { work(&*store, &done, rows).await })
        })
        .collect();
    for task in tasks {
        task.await.expect("a worker ended well");
    }
    rate(rows, started.elapsed())
}

async fn work(store: &dyn Store, done: &AtomicU64, rows: u64) {
    while done.load(Relaxed) < rows {
        let claimed = store.claim(BATCH).await.expect("claimed");
        if claimed.is_empty() {
            // Other workers hold the remaining rows.
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        }
        let count = claimed.len() as u64;
        let moves: Vec<Settlement> = claimed.into_iter().map(|row| delivered(row.lease)).collect();
        store.settle(&moves).await.expect("settled");
        done.fetch_add(count, Relaxed);
    }
}
