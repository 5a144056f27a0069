//! Measures jobs/s from PostgreSQL to a local HTTP sink through the real binary, until each attempt is recorded. The
//! baselines are the limit of the sink (a bare client of the same HTTP crate), the limit of the engine with a no-op
//! transport, and the rate of healthy targets while others hang until their timeout.

mod api;
pub mod api_client;
mod baseline;
pub mod fairness;
pub(crate) mod noop;
pub(crate) mod sink;
pub(crate) mod table;

use api::Accepted;

use crate::postgres::Measurement;
use crate::report::{Figure, Report, median};
use sink::Sink;
use table::{JobTables, Jobs};

/// The parallelism of the bare client and the transport: `per_host` and `concurrency` of the transport.
const ONE_TARGET: usize = 64;
const MANY_TARGETS: usize = 512;

/// Hanging targets per thousand.
const HANGING: u64 = 100;

#[derive(Debug, Clone, Copy)]
struct Case {
    name: &'static str,
    jobs: Jobs,
    baseline: Baseline,
}

#[derive(Debug, Clone, Copy)]
enum Baseline {
    Bare(usize),
    Healthy,
}

const CASES: [Case; 5] = [
    Case { name: "1 target", jobs: Jobs::to(1), baseline: Baseline::Bare(0) },
    Case {
        name: "1 target, created meanwhile",
        jobs: Jobs::to(1).created_while_running(),
        baseline: Baseline::Bare(0),
    },
    Case { name: "1,000 targets", jobs: Jobs::to(1000), baseline: Baseline::Bare(1) },
    Case { name: "900 targets", jobs: Jobs::to(1000 - HANGING), baseline: Baseline::Bare(1) },
    Case {
        name: "900 targets and 100 that hang",
        jobs: Jobs::to(1000 - HANGING).with_hanging(HANGING),
        baseline: Baseline::Healthy,
    },
];

/// Measures all cases.
pub async fn run(report: Report, rounds: usize, rows: u64) {
    let sink = Sink::start().await;
    let table = JobTables::create(&sink).await;
    let mut baseline = [Vec::new(), Vec::new()];
    let mut noop = Vec::new();
    let mut accepted = Vec::new();
    let mut runs: Vec<(Case, Vec<Measurement>)> = CASES.into_iter().map(|case| (case, Vec::new())).collect();
    for round in 1..=rounds {
        Report::progress(&format!("round {round} of {rounds}, {rows} jobs each"));
        baseline[0].push(baseline::run(&sink, rows, 1, ONE_TARGET).await);
        baseline[1].push(baseline::run(&sink, rows, 1000, MANY_TARGETS).await);
        table.fill(Jobs::to(1), rows).await;
        noop.push(noop::run(table.url(), rows).await);
        accepted.push(api::run(&table, &sink, rows).await);
        for (case, runs) in &mut runs {
            let measured = table.measure(case.jobs, rows).await;
            Report::progress(&format!("{}: {:.0} jobs/s", case.name, measured.rate));
            runs.push(measured);
        }
    }
    let baseline = baseline.map(|mut rates| median(&mut rates));
    print(report, baseline, median(&mut noop), &runs);
    print_accepted(report, &accepted);
}

fn print_accepted(report: Report, accepted: &[Accepted]) {
    let print = |case: &str, rate: fn(&Accepted) -> f64, unit| {
        let rate = median(&mut accepted.iter().map(rate).collect::<Vec<f64>>());
        report.print(&Figure::new("webhook", format!("created through the API, {case}"), rate, unit));
    };
    print("one a request", |one| one.jobs, "jobs/s");
    print("100 a request", |one| one.jobs_in_batches, "jobs/s");
    print("one a request", |one| one.events, "events/s");
    print("one a request", |one| one.emails, "mails/s");
}

/// Measures the API alone.
pub async fn run_api(report: Report, rounds: usize, rows: u64) {
    let sink = Sink::start().await;
    let table = JobTables::create(&sink).await;
    let mut accepted = Vec::new();
    for round in 1..=rounds {
        Report::progress(&format!("round {round} of {rounds}, {rows} requests each"));
        accepted.push(api::run(&table, &sink, rows).await);
    }
    print_accepted(report, &accepted);
}

fn print(report: Report, baseline: [f64; 2], noop: f64, runs: &[(Case, Vec<Measurement>)]) {
    let middle = |runs: &[Measurement], of: fn(&Measurement) -> f64| {
        median(&mut runs.iter().map(of).collect::<Vec<f64>>())
    };
    let figure = |case: &str, value, unit| Figure::new("webhook", case, value, unit);
    report.print(&figure("bare client, 1 target", baseline[0], "jobs/s"));
    report.print(&figure("bare client, 1,000 targets", baseline[1], "jobs/s"));
    report.print(&figure("engine with a transport that does nothing", noop, "jobs/s"));
    let mut healthy = f64::NAN;
    for (case, runs) in runs {
        let rate = middle(runs, |run| run.rate);
        let found = figure(case.name, rate, "jobs/s");
        match case.baseline {
            Baseline::Bare(which) => {
                healthy = rate;
                report.print(&found.compared_with("bare client", baseline[which]));
                report.print(&figure(case.name, rate, "jobs/s").compared_with("engine", noop));
            }
            Baseline::Healthy => report.print(&found.compared_with("the same without them", healthy)),
        }
        let (commits, statements) = (middle(runs, |run| run.commits), middle(runs, |run| run.statements));
        report.print(&figure(&format!("{}, commits", case.name), commits, "per 1,000"));
        report.print(&figure(&format!("{}, statements", case.name), statements, "per 1,000"));
    }
}
