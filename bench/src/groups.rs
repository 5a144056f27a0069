//! Rows/s claimed and settled from ordered groups at the store, with and without 100,000 rows of held groups in front:
//! in few long groups, and in very many short ones.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use postrider_contract::{Contract, Transition};
use postrider_seams::row::Detail;
use postrider_seams::store::Settlement;
use postrider_seams::{Claimed, Store, Want};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::time::Instant;

use crate::lane::rate;
use crate::report::{Figure, Report, median};
use crate::servers::Bed;

const BATCH: u32 = 500;

/// Groups that may go.
const FREE: u64 = 200;

/// What stands in front.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    Nothing,
    /// 100 groups of 1,000 rows.
    Long,
    /// 100,000 groups of one row.
    Many,
}

impl Held {
    const ALL: [Self; 3] = [Self::Nothing, Self::Long, Self::Many];

    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing held",
            Self::Long => "100 groups x 1,000 held",
            Self::Many => "100,000 groups x 1 held",
        }
    }

    fn groups(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Long => 100,
            Self::Many => 100_000,
        }
    }
}

pub async fn run(report: Report, rounds: usize, rows: u64) {
    let text = Contract::builtin("outbox").expect("a built-in");
    let contract = Contract::parse("outbox.toml", text).expect("a built-in is sound");
    let bed = Bed::postgres(&contract).await;
    let Bed::Postgres { url, .. } = &bed else { unreachable!("asked for PostgreSQL") };
    for workers in [1, 4] {
        let mut rates: BTreeMap<Held, Vec<f64>> = BTreeMap::new();
        for round in 1..=rounds {
            for held in Held::ALL {
                Report::say(&format!("{workers} workers, {}, round {round} of {rounds}", held.name()));
                fill(url, rows, held).await;
                rates.entry(held).or_default().push(drain(&bed, &contract, workers, rows).await);
            }
        }
        let mut medians = rates.into_iter().map(|(held, mut rates)| (held, median(&mut rates)));
        let (_, nothing) = medians.next().expect("a case");
        let named = |held: Held| format!("{workers} workers, {}", held.name());
        report.print(&Figure::new("groups", named(Held::Nothing), nothing, "rows/s"));
        for (held, rate) in medians {
            report.print(&Figure::new("groups", named(held), rate, "rows/s").beside("nothing held", nothing));
        }
    }
}

/// Held groups first, by key and by time; then `rows` due ones of free groups, in turn.
async fn fill(url: &str, rows: u64, held: Held) {
    let columns = "topic, partition_key, payload, status, created_at, next_attempt_at";
    let payload = "x".repeat(200);
    let groups = held.groups();
    let free = format!(
        "INSERT INTO outbox ({columns}) SELECT 'events', 'k-' || md5((n % {FREE})::text), '{payload}', 'PENDING', \
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

/// Each worker has a store of its own, and claims and settles in turn, until `rows` are delivered.
async fn drain(bed: &Bed, contract: &Contract, workers: usize, rows: u64) -> f64 {
    let done = Arc::new(AtomicU64::new(0));
    let mut stores = Vec::with_capacity(workers);
    for _ in 0..workers {
        stores.push(bed.store(contract).await);
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
        let claimed = store.claim(&Want { limit: BATCH }).await.expect("claimed");
        if claimed.is_empty() {
            // Others hold what is left.
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        }
        let count = claimed.len() as u64;
        let moves: Vec<Settlement> = claimed.into_iter().map(delivered).collect();
        store.settle(&moves).await.expect("settled");
        done.fetch_add(count, Relaxed);
    }
}

fn delivered(row: Claimed) -> Settlement {
    Settlement {
        lease: row.lease,
        transition: Transition::Delivered,
        delay: Duration::ZERO,
        hands_back: Vec::new(),
        reason: None,
        receipt: None,
        envelope: Detail::new(),
        outcome: Detail::new(),
    }
}
