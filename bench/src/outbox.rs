//! Measures rows/s from PostgreSQL to brokers through the real binary with its defaults: the contract's batch and poll
//! interval. The baselines are a bare producer of the same client library with the same settings and the same records
//! from memory, and the binary itself with 100,000 rows of blocked keys in front.

mod baseline;
mod broker;
mod table;

use crate::postgres::Measurement;
use crate::report::{Figure, Report, median};
use broker::Broker;
use table::{BlockedFront, OutboxTable};

/// The rows that a case measures.
#[derive(Debug, Clone, Copy)]
struct Case {
    name: &'static str,
    /// Distinct keys; 0: the rows are unordered.
    keys: u64,
    front: BlockedFront,
}

const UNBLOCKED: [Case; 3] = [
    Case { name: "no keys", keys: 0, front: BlockedFront::Nothing },
    Case { name: "50 keys", keys: 50, front: BlockedFront::Nothing },
    Case { name: "1,000 keys", keys: 1000, front: BlockedFront::Nothing },
];

/// The last two cases behind rows that cannot be delivered: few keys with many rows, and as many keys as rows.
const BLOCKED: [Case; 3] = [
    Case { name: "50 keys behind 1,000 blocked", keys: 50, front: BlockedFront::Keys(1000) },
    Case { name: "50 keys behind 100,000 blocked", keys: 50, front: BlockedFront::Keys(100_000) },
    Case { name: "1,000 keys behind 1,000 blocked", keys: 1000, front: BlockedFront::Keys(1000) },
];

/// Measures all cases; `blocked` is the number of rows of blocked keys.
pub async fn run(report: Report, rounds: usize, rows: u64, blocked: u64) {
    for broker in [Broker::kafka(), Broker::nats()] {
        let table = OutboxTable::create(&broker).await;
        let mut baseline = Vec::new();
        let mut runs: Vec<(Case, Vec<Measurement>)> =
            UNBLOCKED.into_iter().chain(BLOCKED).map(|case| (case, Vec::new())).collect();
        for round in 1..=rounds {
            Report::progress(&format!("{}: round {round} of {rounds}, {rows} rows each", broker.name()));
            broker.empty().await;
            baseline.push(baseline::run(&broker, rows).await);
            for (case, runs) in &mut runs {
                broker.empty().await;
                table.fill(rows, case.keys, case.front, blocked).await;
                runs.push(table.drain(rows).await);
            }
        }
        print(report, broker.name(), median(&mut baseline), &runs);
    }
}

fn print(report: Report, broker: &str, baseline: f64, runs: &[(Case, Vec<Measurement>)]) {
    let middle = |runs: &[Measurement], of: fn(&Measurement) -> f64| {
        median(&mut runs.iter().map(of).collect::<Vec<f64>>())
    };
    let figure = |case: &str, value, unit| Figure::new("outbox", format!("{broker}: {case}"), value, unit);
    report.print(&figure("bare producer", baseline, "rows/s"));
    let free = |keys: u64| {
        let same = runs.iter().find(|(case, _)| case.keys == keys && case.front == BlockedFront::Nothing);
        middle(&same.expect("every case is also run with nothing in front").1, |run| run.rate)
    };
    for (case, runs) in runs {
        let rate = middle(runs, |run| run.rate);
        let plain = case.front == BlockedFront::Nothing;
        let (name, other) =
            if plain { ("bare producer", baseline) } else { ("nothing in front", free(case.keys)) };
        report.print(&figure(case.name, rate, "rows/s").compared_with(name, other));
        let commits = middle(runs, |run| run.commits);
        let statements = middle(runs, |run| run.statements);
        report.print(&figure(&format!("{}, commits", case.name), commits, "per 1,000"));
        report.print(&figure(&format!("{}, statements", case.name), statements, "per 1,000"));
    }
}
