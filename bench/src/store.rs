//! Measures rows/s through the whole engine with a no-op transport, compared with a bare loop of the same statements in
//! the same batches, and with pgbench; the index entries that a row costs; and the time of a claim at a small and at a
//! large backlog.

mod baseline;
mod index_writes;
pub(crate) mod pgbench;

use std::sync::Arc;

use postrider_composers::NullComposer;
use postrider_contract::Contract;
use postrider_seams::Store;
use tokio::time::Instant;

use crate::lane::{NoOp, contract, delivered, drain, lane, limits};
use crate::report::{Figure, Report, median};
use crate::servers::BenchTable;

const BATCH: u32 = 500;

/// Measures every database; `backlog` is the size of the large backlog.
pub async fn run(report: Report, rounds: usize, rows: u64, backlog: u64) {
    let contract = contract(BATCH);
    let tables = [
        BenchTable::postgres(&contract).await,
        BenchTable::mariadb(&contract).await,
        BenchTable::sqlite(&contract).await,
    ];
    index_writes::run(report).await;
    for table in &tables {
        throughput(report, rounds, rows, table, &contract).await;
    }
    for table in &tables {
        claim_latency(report, rounds, backlog, table, &contract).await;
    }
}

async fn throughput(report: Report, rounds: usize, rows: u64, table: &BenchTable, contract: &Contract) {
    let (mut postrider, mut baseline, mut pgbench) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=rounds {
        Report::progress(&format!("{}: round {round} of {rounds}, {rows} rows each", table.name()));
        table.fill(rows, "").await;
        let engine = lane(
            contract,
            table.store(contract).await,
            Arc::new(NullComposer),
            Arc::new(NoOp),
            limits(BATCH),
        );
        postrider.push(drain(engine, rows).await);
        table.fill(rows, "").await;
        baseline.push(baseline::run(table, contract, rows, BATCH).await);
        if let BenchTable::Postgres { url, .. } = table {
            table.fill(rows, "").await;
            pgbench.push(pgbench::run(url, rows).await);
        }
    }
    let (postrider, baseline) = (median(&mut postrider), median(&mut baseline));
    let name = table.name();
    report.print(&Figure::new("store", format!("{name}: bare loop"), baseline, "rows/s"));
    report.print(&Figure::new("store", name, postrider, "rows/s").compared_with("bare loop", baseline));
    if !pgbench.is_empty() {
        let pgbench = median(&mut pgbench);
        report.print(&Figure::new("store", format!("{name}: pgbench, 100 at a time"), pgbench, "rows/s"));
        report.print(
            &Figure::new("store", format!("{name} (pgbench)"), postrider, "rows/s")
                .compared_with("pgbench", pgbench),
        );
    }
}

/// The median time of one claim at a small and at a large backlog, the two interleaved by rounds.
async fn claim_latency(report: Report, rounds: usize, backlog: u64, table: &BenchTable, contract: &Contract) {
    const SMALL: u64 = 10_000;
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        Report::progress(&format!(
            "{}: claims at {SMALL} and {backlog} rows, round {round} of {rounds}",
            table.name()
        ));
        for (rows, times) in [(SMALL, &mut small), (backlog, &mut large)] {
            table.fill(rows, "").await;
            let store = table.store(contract).await;
            times.push(claim_millis(&*store).await);
        }
    }
    let (small, large) = (median(&mut small), median(&mut large));
    let name = table.name();
    report.print(&Figure::new("store", format!("{name}: claim of 100 at {SMALL} rows"), small, "ms"));
    report.print(
        &Figure::new("store", format!("{name}: claim of 100 at {backlog} rows"), large, "ms")
            .compared_with(&format!("{SMALL} rows"), small),
    );
}

async fn claim_millis(store: &dyn Store) -> f64 {
    const CLAIMS: usize = 60;
    let mut times = Vec::with_capacity(CLAIMS);
    for _ in 0..CLAIMS {
        let started = Instant::now();
        let rows = store.claim(100).await.expect("claimed");
        times.push(started.elapsed().as_secs_f64() * 1000.0);
        assert_eq!(rows.len(), 100);
        let moves: Vec<_> = rows.into_iter().map(|row| delivered(row.lease)).collect();
        store.settle(&moves).await.expect("settled");
    }
    // Skip the first claims, which warm caches and prepared statements.
    median(&mut times[10..])
}
