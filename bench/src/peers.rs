//! Measures no-op rows/s of Postrider and of other queues on the same PostgreSQL server, and of pgbench, which claims and
//! settles with bare SQL; and mails/s beside other clients. All are interleaved, round by round.

mod mails;
mod program;
mod queue;

use std::sync::Arc;

use postrider_composers::NullComposer;
use postrider_contract::Contract;

use self::queue::QUEUES;
use crate::lane::{NoOp, contract, drain, lane, limits};
use crate::report::{Figure, Report, median};
use crate::servers::BenchTable;
use crate::store::pgbench;
use crate::webhook::noop;
use crate::webhook::sink::Sink;
use crate::webhook::table::{JobTables, Jobs};

const BATCH: u32 = 2000;
/// The claim size of the mails, as in the bench `mail`.
const MAIL_BATCH: u32 = 500;

/// Measures all with this many rows; the mails are a fifth as many.
pub async fn run(report: Report, rounds: usize, rows: u64) {
    let contract = contract(BATCH);
    let mails = BenchTable::postgres(&contract).await;
    let sink = Sink::start().await;
    let jobs = JobTables::create(&sink).await;
    let (mut rates, mut outbox, mut webhooks) = (Rates::default(), Vec::new(), Vec::new());
    for round in 1..=rounds {
        Report::progress(&format!("round {round} of {rounds}, {rows} rows each"));
        rates.pgbench.push(pgbench_drain(&mails, rows).await);
        outbox.push(engine_drain(&mails, &contract, rows).await);
        jobs.fill(Jobs::to(1), rows).await;
        webhooks.push(noop::run(jobs.url(), rows).await);
        for (queue, rates) in QUEUES.iter().zip(&mut rates.queues) {
            rates.push(queue.run(rows).await);
        }
    }
    let others = rates.medians();
    for (name, rate) in &others {
        report.print(&Figure::new("peers", *name, *rate, "rows/s"));
    }
    for (case, rates) in
        [("Postrider, mail_outbox", &mut outbox), ("Postrider, dispatch_jobs", &mut webhooks)]
    {
        let rate = median(rates);
        for (name, other) in &others {
            report.print(&Figure::new("peers", case, rate, "rows/s").compared_with(name, *other));
        }
    }
    mails::run(report, rounds, rows.div_ceil(5), &mails, &crate::lane::contract(MAIL_BATCH)).await;
}

/// The rates of the others, one per round.
#[derive(Default)]
struct Rates {
    pgbench: Vec<f64>,
    queues: [Vec<f64>; QUEUES.len()],
}

impl Rates {
    fn medians(mut self) -> Vec<(&'static str, f64)> {
        let mut medians: Vec<_> =
            QUEUES.iter().zip(&mut self.queues).map(|(queue, rates)| (queue.name, median(rates))).collect();
        medians.push(("pgbench", median(&mut self.pgbench)));
        medians
    }
}

async fn pgbench_drain(table: &BenchTable, rows: u64) -> f64 {
    let BenchTable::Postgres { url, .. } = table else { unreachable!("the bench runs on PostgreSQL") };
    table.fill(rows, "").await;
    pgbench::run(url, rows).await
}

async fn engine_drain(table: &BenchTable, contract: &Contract, rows: u64) -> f64 {
    table.fill(rows, "").await;
    let store = table.store(contract).await;
    drain(lane(contract, store, Arc::new(NullComposer), Arc::new(NoOp), limits(BATCH)), rows).await
}
