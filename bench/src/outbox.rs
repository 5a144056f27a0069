//! Measures rows/s from PostgreSQL to brokers through the real binary with its defaults: the contract's batch and poll
//! interval. The baselines are a bare producer of the same client library with the same settings and the same records
//! from memory, and the binary itself with 100,000 rows of blocked keys in front.

mod bare;
mod broker;
mod table;

use crate::report::{Figure, Report, median};
use broker::Broker;
use table::{Front, Table};

/// The rows that a case measures.
#[derive(Debug, Clone, Copy)]
struct Case {
    name: &'static str,
    /// Distinct keys; 0: the rows are unordered.
    keys: u64,
    front: Front,
}

const PLAIN: [Case; 3] = [
    Case { name: "no keys", keys: 0, front: Front::Nothing },
    Case { name: "50 keys", keys: 50, front: Front::Nothing },
    Case { name: "1,000 keys", keys: 1000, front: Front::Nothing },
];

/// The last two cases behind rows that cannot be delivered: few keys with many rows, and as many keys as rows.
const BLOCKED: [Case; 3] = [
    Case { name: "50 keys behind 1,000 blocked", keys: 50, front: Front::Keys(1000) },
    Case { name: "50 keys behind 100,000 blocked", keys: 50, front: Front::Keys(100_000) },
    Case { name: "1,000 keys behind 1,000 blocked", keys: 1000, front: Front::Keys(1000) },
];

/// The result of one run of the binary.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// Rows per second.
    rate: f64,
    /// Commits of PostgreSQL per thousand rows.
    commits: f64,
    statements: f64,
}

/// Measures all cases; `blocked` is the number of rows of blocked keys.
pub async fn run(report: Report, rounds: usize, rows: u64, blocked: u64) {
    for broker in [Broker::kafka(), Broker::nats()] {
        let table = Table::create(&broker).await;
        let mut bare = Vec::new();
        let mut runs: Vec<(Case, Vec<Run>)> =
            PLAIN.into_iter().chain(BLOCKED).map(|case| (case, Vec::new())).collect();
        for round in 1..=rounds {
            Report::say(&format!("{}: round {round} of {rounds}, {rows} rows each", broker.name()));
            broker.empty().await;
            bare.push(bare::run(&broker, rows).await);
            for (case, runs) in &mut runs {
                broker.empty().await;
                table.fill(rows, case.keys, case.front, blocked).await;
                runs.push(table.drain(rows).await);
            }
        }
        print(report, broker.name(), median(&mut bare), &runs);
    }
}

fn print(report: Report, broker: &str, bare: f64, runs: &[(Case, Vec<Run>)]) {
    let middle = |runs: &[Run], of: fn(&Run) -> f64| median(&mut runs.iter().map(of).collect::<Vec<f64>>());
    let figure = |case: &str, value, unit| Figure::new("outbox", format!("{broker}: {case}"), value, unit);
    report.print(&figure("bare producer", bare, "rows/s"));
    let free = |keys: u64| {
        let same = runs.iter().find(|(case, _)| case.keys == keys && case.front == Front::Nothing);
        middle(&same.expect("every case is also run with nothing in front").1, |run| run.rate)
    };
    for (case, runs) in runs {
        let rate = middle(runs, |run| run.rate);
        let plain = case.front == Front::Nothing;
        let (name, other) =
            if plain { ("bare producer", bare) } else { ("nothing in front", free(case.keys)) };
        report.print(&figure(case.name, rate, "rows/s").beside(name, other));
        let commits = middle(runs, |run| run.commits);
        let statements = middle(runs, |run| run.statements);
        report.print(&figure(&format!("{}, commits", case.name), commits, "per 1,000"));
        report.print(&figure(&format!("{}, statements", case.name), statements, "per 1,000"));
    }
}
