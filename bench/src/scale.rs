//! Measures how the cost of a row grows with instances on one database, with lanes in one instance, and with the
//! backlog, on PostgreSQL. Lanes have a transport that does nothing. Draws the results as SVG files on request.

mod plot;
mod tables;

use std::path::Path;

use postrider_seams::Store;
use tokio::time::Instant;

use self::plot::{Plot, Point};
use self::tables::Tables;
use crate::lane::delivered;
use crate::postgres::number;
use crate::report::{Figure, Report, median};

const INSTANCES: [usize; 3] = [1, 2, 4];
const LANES: [usize; 3] = [1, 10, 100];
/// The largest number of claims whose time is measured.
const MAX_CLAIMS: u64 = 60;
const CLAIM: u32 = 100;

/// Measures all: `rows` is the number of rows that a case drains, and the middle backlog.
pub async fn run(report: Report, rounds: usize, rows: u64, long: bool, plots: Option<&Path>) {
    let tables = Tables::create(LANES[LANES.len() - 1]).await;
    let mut backlogs = vec![rows / 10, rows, rows * 10];
    if long {
        backlogs.push(rows * 100);
    }
    let mut instances = Growth::new(["instance", "instances"], &INSTANCES.map(|count| count as u64));
    let mut lanes = Growth::new(["lane", "lanes"], &LANES.map(|count| count as u64));
    let mut drains = Growth::new(["row of backlog", "rows of backlog"], &backlogs);
    let mut claims = Growth::new(["row of backlog", "rows of backlog"], &backlogs);
    for round in 1..=rounds {
        Report::progress(&format!("round {round} of {rounds}, {rows} rows each"));
        for (count, values) in INSTANCES.into_iter().zip(&mut instances.values) {
            values.push(drain_by_instances(&tables, count, rows).await);
        }
        for (count, values) in LANES.into_iter().zip(&mut lanes.values) {
            values.push(drain_of_lanes(&tables, count, rows).await);
        }
        for (index, backlog) in backlogs.iter().copied().enumerate() {
            Report::progress(&format!("a backlog of {backlog} rows"));
            let (rate, millis) = drain_of_backlog(&tables, backlog, rows.min(backlog)).await;
            drains.values[index].push(rate);
            claims.values[index].push(millis);
        }
    }
    let (instances, lanes) = (instances.print(report, "", "rows/s"), lanes.print(report, "", "rows/s"));
    let drains = drains.print(report, "drain, ", "rows/s");
    let claims = claims.print(report, "claim of 100, ", "ms");
    let Some(folder) = plots else { return };
    let draw = |file, title, below, left, points: &[Point]| {
        write(folder, file, &Plot { title, below, left, points });
    };
    draw("scale-instances", "Instances on one database", "instances", "rows/s of all", &instances);
    draw("scale-lanes", "Lanes in one instance", "lanes, each with its own table", "rows/s of all", &lanes);
    draw("scale-backlog", "A drain by the size of the backlog", "rows that wait", "rows/s", &drains);
    draw("scale-claim", "A claim of 100 rows by the size of the backlog", "rows that wait", "ms", &claims);
}

fn write(folder: &Path, file: &str, plot: &Plot<'_>) {
    let path = folder.join(format!("{file}.svg"));
    std::fs::write(&path, plot.svg())
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}

/// The values of a series of counts, one per round.
struct Growth {
    /// The name of one, and of several.
    nouns: [&'static str; 2],
    counts: Vec<u64>,
    values: Vec<Vec<f64>>,
}

impl Growth {
    fn new(nouns: [&'static str; 2], counts: &[u64]) -> Self {
        Self { nouns, counts: counts.to_vec(), values: vec![Vec::new(); counts.len()] }
    }

    /// Prints the medians, each compared with that of the first count; returns them.
    fn print(mut self, report: Report, what: &str, unit: &'static str) -> Vec<Point> {
        let [one, several] = self.nouns;
        let named = |count| format!("{count} {}", if count == 1 { one } else { several });
        let medians: Vec<f64> = self.values.iter_mut().map(|values| median(values)).collect();
        for (count, value) in self.counts.iter().zip(&medians) {
            let figure = Figure::new("scale", format!("{what}{}", named(*count)), *value, unit);
            report.print(&figure.compared_with(&named(self.counts[0]), medians[0]));
        }
        self.counts.iter().zip(medians).map(|(count, value)| Point { count: number(*count), value }).collect()
    }
}

/// Several instances drain one table together.
async fn drain_by_instances(tables: &Tables, count: usize, rows: u64) -> f64 {
    tables.fill(1, rows).await;
    let mut instances = Vec::new();
    for _ in 0..count {
        instances.push(tables.instance(1).await);
    }
    tables::drain(instances, rows).await
}

/// One instance drains several tables, which have as many rows together.
async fn drain_of_lanes(tables: &Tables, count: usize, rows: u64) -> f64 {
    let each = rows / count as u64;
    tables.fill(count, each).await;
    tables::drain(vec![tables.instance(count).await], each * count as u64).await
}

/// The time of a claim, and then the rate at which the first rows of the backlog are drained.
async fn drain_of_backlog(tables: &Tables, backlog: u64, rows: u64) -> (f64, f64) {
    tables.fill(1, backlog).await;
    let lanes = tables.instance(1).await;
    let claims = (backlog / 2 / u64::from(CLAIM)).clamp(1, MAX_CLAIMS);
    let millis = claim_millis(&*lanes[0].store, claims).await;
    if backlog < rows + claims * u64::from(CLAIM) {
        tables.fill(1, backlog).await;
    }
    (tables::drain(vec![lanes], rows).await, millis)
}

/// The median time of some claims; their rows are settled in between.
async fn claim_millis(store: &dyn Store, claims: u64) -> f64 {
    let mut times = Vec::new();
    for _ in 0..claims {
        let started = Instant::now();
        let rows = store.claim(CLAIM).await.expect("claimed");
        times.push(started.elapsed().as_secs_f64() * 1000.0);
        let moves: Vec<_> = rows.into_iter().map(|row| delivered(row.lease)).collect();
        assert_eq!(moves.len(), CLAIM as usize);
        store.settle(&moves).await.expect("settled");
    }
    // The first claims warm caches and prepared statements.
    let warm = times.len() / 6;
    median(&mut times[warm..])
}
