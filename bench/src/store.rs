//! Measures rows/s through the whole engine with a no-op transport, compared with a bare loop of the same statements in
//! the same batches, and with pgbench; and the time of a claim at a small and at a large backlog.

mod bare;
mod pgbench;

use std::sync::Arc;
use std::time::Duration;

use postrider_composers::NullComposer;
use postrider_contract::{Contract, Transition};
use postrider_seams::row::Detail;
use postrider_seams::store::Settlement;
use postrider_seams::{Store, Want};
use tokio::time::Instant;

use crate::lane::{NoOp, contract, drain, lane, limits};
use crate::report::{Figure, Report, median};
use crate::servers::Bed;

const BATCH: u32 = 500;

/// Measures every database; `backlog` is the size of the large backlog.
pub async fn run(report: Report, rounds: usize, rows: u64, backlog: u64) {
    let contract = contract(BATCH);
    let beds = [Bed::postgres(&contract).await, Bed::mariadb(&contract).await, Bed::sqlite(&contract).await];
    for bed in &beds {
        throughput(report, rounds, rows, bed, &contract).await;
    }
    for bed in &beds {
        claim_latency(report, rounds, backlog, bed, &contract).await;
    }
}

async fn throughput(report: Report, rounds: usize, rows: u64, bed: &Bed, contract: &Contract) {
    let (mut ours, mut bare, mut pgbench) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=rounds {
        Report::say(&format!("{}: round {round} of {rounds}, {rows} rows each", bed.name()));
        bed.fill(rows, "").await;
        let engine =
            lane(contract, bed.store(contract).await, Arc::new(NullComposer), Arc::new(NoOp), limits(BATCH));
        ours.push(drain(engine, rows).await);
        bed.fill(rows, "").await;
        bare.push(bare::run(bed, contract, rows, BATCH).await);
        if let Bed::Postgres { url, .. } = bed {
            bed.fill(rows, "").await;
            pgbench.push(pgbench::run(url, rows).await);
        }
    }
    let (ours, bare) = (median(&mut ours), median(&mut bare));
    let name = bed.name();
    report.print(&Figure::new("store", format!("{name}: bare loop"), bare, "rows/s"));
    report.print(&Figure::new("store", name, ours, "rows/s").beside("bare loop", bare));
    if !pgbench.is_empty() {
        let pgbench = median(&mut pgbench);
        report.print(&Figure::new("store", format!("{name}: pgbench, 100 at a time"), pgbench, "rows/s"));
        report.print(
            &Figure::new("store", format!("{name} (pgbench)"), ours, "rows/s").beside("pgbench", pgbench),
        );
    }
}

/// The median time of one claim at a small and at a large backlog, the two interleaved by rounds.
async fn claim_latency(report: Report, rounds: usize, backlog: u64, bed: &Bed, contract: &Contract) {
    const SMALL: u64 = 10_000;
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        Report::say(&format!(
            "{}: claims at {SMALL} and {backlog} rows, round {round} of {rounds}",
            bed.name()
        ));
        for (rows, times) in [(SMALL, &mut small), (backlog, &mut large)] {
            bed.fill(rows, "").await;
            let store = bed.store(contract).await;
            times.push(claim_millis(&*store).await);
        }
    }
    let (small, large) = (median(&mut small), median(&mut large));
    let name = bed.name();
    report.print(&Figure::new("store", format!("{name}: claim of 100 at {SMALL} rows"), small, "ms"));
    report.print(
        &Figure::new("store", format!("{name}: claim of 100 at {backlog} rows"), large, "ms")
            .beside(&format!("{SMALL} rows"), small),
    );
}

async fn claim_millis(store: &dyn Store) -> f64 {
    const CLAIMS: usize = 60;
    let mut times = Vec::with_capacity(CLAIMS);
    for _ in 0..CLAIMS {
        let started = Instant::now();
        let rows = store.claim(&Want { limit: 100 }).await.expect("claimed");
        times.push(started.elapsed().as_secs_f64() * 1000.0);
        assert_eq!(rows.len(), 100);
        let moves: Vec<_> = rows
            .into_iter()
            .map(|row| Settlement {
                lease: row.lease,
                transition: Transition::Delivered,
                delay: Duration::ZERO,
                hands_back: Vec::new(),
                reason: None,
                receipt: None,
                envelope: Detail::new(),
                outcome: Detail::new(),
            })
            .collect();
        store.settle(&moves).await.expect("settled");
    }
    // Skip the first claims, which warm caches and prepared statements.
    median(&mut times[10..])
}
