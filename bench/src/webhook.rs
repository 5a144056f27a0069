//! Measures jobs/s from PostgreSQL to a local HTTP sink through the real binary, until each attempt is recorded. The
//! baselines are the limit of the sink (a bare client of the same HTTP crate), the limit of the engine with a no-op
//! transport, and the rate of healthy targets while others hang until their timeout.

mod api;
mod bare;
pub mod fairness;
mod noop;
mod sink;
mod table;

use crate::report::{Figure, Report, median};
use sink::Sink;
use table::{Jobs, Run, Table};

/// The parallelism of the bare client and the transport: `per_host` and `concurrency` of the transport.
const ONE_TARGET: usize = 64;
const MANY_TARGETS: usize = 512;

/// Hanging targets per thousand.
const HANGING: u64 = 100;

#[derive(Debug, Clone, Copy)]
struct Case {
    name: &'static str,
    jobs: Jobs,
    beside: Beside,
}

#[derive(Debug, Clone, Copy)]
enum Beside {
    Bare(usize),
    Healthy,
}

const CASES: [Case; 5] = [
    Case { name: "1 target", jobs: Jobs::to(1), beside: Beside::Bare(0) },
    Case {
        name: "1 target, created meanwhile",
        jobs: Jobs::to(1).created_meanwhile(),
        beside: Beside::Bare(0),
    },
    Case { name: "1,000 targets", jobs: Jobs::to(1000), beside: Beside::Bare(1) },
    Case { name: "900 targets", jobs: Jobs::to(1000 - HANGING), beside: Beside::Bare(1) },
    Case {
        name: "900 targets beside 100 that hang",
        jobs: Jobs::to(1000 - HANGING).beside_hanging(HANGING),
        beside: Beside::Healthy,
    },
];

/// Measures all cases.
pub async fn run(report: Report, rounds: usize, rows: u64) {
    let sink = Sink::start().await;
    let table = Table::create(&sink).await;
    let mut bare = [Vec::new(), Vec::new()];
    let mut noop = Vec::new();
    let (mut single, mut batch) = (Vec::new(), Vec::new());
    let mut runs: Vec<(Case, Vec<Run>)> = CASES.into_iter().map(|case| (case, Vec::new())).collect();
    for round in 1..=rounds {
        Report::say(&format!("round {round} of {rounds}, {rows} jobs each"));
        bare[0].push(bare::run(&sink, rows, 1, ONE_TARGET).await);
        bare[1].push(bare::run(&sink, rows, 1000, MANY_TARGETS).await);
        table.fill(Jobs::to(1), rows).await;
        noop.push(noop::run(table.url(), rows).await);
        let (one, hundred) = api::run(&table, &sink, rows / 5).await;
        single.push(one);
        batch.push(hundred);
        for (case, runs) in &mut runs {
            let measured = table.measure(case.jobs, rows).await;
            Report::say(&format!("{}: {:.0} jobs/s", case.name, measured.rate));
            runs.push(measured);
        }
    }
    let bare = bare.map(|mut rates| median(&mut rates));
    print(report, bare, median(&mut noop), &runs);
    let created = |case: &str, rates: &mut Vec<f64>| {
        report.print(&Figure::new(
            "webhook",
            format!("created through the API, {case}"),
            median(rates),
            "jobs/s",
        ));
    };
    created("one a request", &mut single);
    created("100 a request", &mut batch);
}

fn print(report: Report, bare: [f64; 2], noop: f64, runs: &[(Case, Vec<Run>)]) {
    let middle = |runs: &[Run], of: fn(&Run) -> f64| median(&mut runs.iter().map(of).collect::<Vec<f64>>());
    let figure = |case: &str, value, unit| Figure::new("webhook", case, value, unit);
    report.print(&figure("bare client, 1 target", bare[0], "jobs/s"));
    report.print(&figure("bare client, 1,000 targets", bare[1], "jobs/s"));
    report.print(&figure("engine with a transport that does nothing", noop, "jobs/s"));
    let mut healthy = f64::NAN;
    for (case, runs) in runs {
        let rate = middle(runs, |run| run.rate);
        let found = figure(case.name, rate, "jobs/s");
        match case.beside {
            Beside::Bare(which) => {
                healthy = rate;
                report.print(&found.beside("bare client", bare[which]));
                report.print(&figure(case.name, rate, "jobs/s").beside("engine", noop));
            }
            Beside::Healthy => report.print(&found.beside("the same without them", healthy)),
        }
        let (commits, statements) = (middle(runs, |run| run.commits), middle(runs, |run| run.statements));
        report.print(&figure(&format!("{}, commits", case.name), commits, "per 1,000"));
        report.print(&figure(&format!("{}, statements", case.name), statements, "per 1,000"));
    }
}
