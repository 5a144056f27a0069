//! `bench`: measures a lane's database, on scratch tables that are dropped at the end.
//!
//! One worker on one connection claims and settles batches of the size that a busy lane claims. For comparison, the
//! same batches are run with two plain updates per row: the ratio is the cost of finding, locking and fencing.

mod scratch;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use postrider_contract::Transition;
use postrider_seams::row::Detail;
use postrider_seams::store::Settlement;
use serde::Serialize;

use super::CommandContext;
use crate::cli::BenchArgs;
use crate::failure::Failure;
use crate::output::{Output, line};
use crate::progress::Progress;
use crate::settings::LaneSettings;
use crate::text_table::TextTable;
use scratch::{BATCH, ScratchTables};

/// One measurement, in the JSON form that all our benches use.
#[derive(Debug, Serialize)]
struct Figure {
    bench: &'static str,
    case: String,
    value: f64,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_to: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
}

/// Measures every store of the chosen lanes and prints the figures.
pub async fn run(context: &CommandContext, args: &BenchArgs) -> Result<(), Failure> {
    let output = Output::new(args.json);
    // Measure each store once, however many lanes use it.
    let stores: BTreeMap<&str, &LaneSettings> =
        context.lanes(&args.lanes)?.into_iter().map(|lane| (lane.store.as_str(), lane)).collect();
    let mut table = TextTable::new(&["case", ">value", "unit", ">ratio", "to"]);
    for (store, lane) in stores {
        let scratch = ScratchTables::new(context, lane)?;
        output.note(format_args!(
            "store `{store}`: scratch tables {}; they are dropped at the end",
            scratch.names()
        ));
        let measured = tokio::select! {
            measured = measure(&scratch, args.rows, output) => measured,
            ended = tokio::signal::ctrl_c() => {
                ended?;
                Err(Failure::Failed("interrupted".to_owned()))
            }
        };
        let dropped = scratch.drop_all().await;
        for figure in measured? {
            if args.json {
                line(&figure)?;
            } else {
                table.row(cells(&figure));
            }
        }
        dropped?;
    }
    if args.json { Ok(()) } else { Ok(table.write(&mut std::io::stdout().lock())?) }
}

async fn measure(scratch: &ScratchTables<'_>, rows: u64, output: Output) -> Result<Vec<Figure>, Failure> {
    let store = scratch.store();
    let figure = |case: &str, value: f64, unit| Figure {
        bench: "store",
        case: format!("{store}: {case}"),
        value: value.round(),
        unit,
        ratio_to: None,
        ratio: None,
    };
    let mut progress = Progress::new("rows of the bench", Some(4 * rows), output);
    scratch.fill(0, rows, &mut progress).await?;
    let postrider_rate = claim_and_settle(scratch, rows, &mut progress).await?;
    scratch.fill(1, rows, &mut progress).await?;
    let plain_rate = scratch.plain_updates(1, rows, &mut progress).await?;
    let commits = scratch.commits(1).await?;
    progress.finish();
    let mut compared = figure(&format!("claim and settle, {BATCH} at a time"), postrider_rate, "rows/s");
    (compared.ratio_to, compared.ratio) =
        (Some("plain updates"), Some((postrider_rate / plain_rate * 100.0).round() / 100.0));
    Ok(vec![
        figure("commits of one row", commits, "commits/s"),
        figure(&format!("plain updates, {BATCH} at a time"), plain_rate, "rows/s"),
        compared,
    ])
}

/// Measures the store's verbs as a lane uses them.
async fn claim_and_settle(
    scratch: &ScratchTables<'_>,
    rows: u64,
    progress: &mut Progress,
) -> Result<f64, Failure> {
    let table = scratch.open(0).await?;
    let start = Instant::now();
    let mut settled = 0;
    while settled < rows {
        let claimed = table.claim(BATCH).await?;
        if claimed.is_empty() {
            return Err(Failure::Failed(format!(
                "only {settled} of {rows} rows could be claimed: another worker seems to use the scratch table"
            )));
        }
        let moves: Vec<Settlement> = claimed
            .into_iter()
            .map(|row| Settlement {
                lease: row.lease,
                transition: Transition::Delivered,
                delay: Duration::ZERO,
                reason: None,
                receipt: None,
                envelope: Detail::new(),
                outcome: Detail::new(),
                releases: Vec::new(),
            })
            .collect();
        table.settle(&moves).await?;
        settled += moves.len() as u64;
        progress.add(moves.len() as u64);
    }
    Ok(rate(rows, start))
}

fn rate(count: u64, since: Instant) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a rate: three digits are enough")]
    let count = count as f64;
    count / since.elapsed().as_secs_f64().max(0.001)
}

fn cells(figure: &Figure) -> Vec<String> {
    vec![
        figure.case.clone(),
        format!("{:.0}", figure.value),
        figure.unit.to_owned(),
        figure.ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        figure.ratio_to.unwrap_or_default().to_owned(),
    ]
}
