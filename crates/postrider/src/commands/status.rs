//! `status`: shows every lane's rows by state, and its lag.

mod watch;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use postrider_seams::inspect::{Lag, StateCount};
use postrider_seams::store;

use super::CommandContext;
use crate::cli::StatusArgs;
use crate::contract_memory::LaneContract;
use crate::failure::Failure;
use crate::settings::LaneSettings;
use crate::text_table::TextTable;
use crate::wiring::TransportKind;

/// The figures of one lane's table, and the state of its target.
struct TableStatus {
    paused: bool,
    counts: Vec<StateCount>,
    lag: Lag,
    /// The reason why nothing can be delivered now.
    problem: Option<String>,
    /// Rows in unknown states, which no lane claims, described in words.
    unknown_states: Vec<String>,
}

/// Prints the status of every lane once, or repeatedly with `--watch`.
pub async fn run(context: &CommandContext, args: &StatusArgs) -> Result<(), Failure> {
    if let Some(seconds) = args.watch {
        return watch::run(context, args.json, Duration::from_secs(seconds)).await;
    }
    let lanes = query_all(context).await;
    let mut out = std::io::stdout().lock();
    if args.json {
        write_json(&mut out, &lanes)?;
    } else {
        let mut table = TextTable::new(&["lane", "state", ">rows", "note"]);
        for (lane, status) in &lanes {
            add_rows(&mut table, lane, status);
        }
        table.write(&mut out)?;
    }
    if lanes.iter().any(|(_, status)| status.is_err()) { Err(Failure::Reported) } else { Ok(()) }
}

/// Every lane with the status of its table.
type LaneStatuses<'a> = Vec<(&'a LaneSettings, Result<TableStatus, store::Error>)>;

async fn query_all(context: &CommandContext) -> LaneStatuses<'_> {
    // Query all lanes concurrently: each unavailable server waits for its own timeout.
    join_all(context.settings.lanes.iter().map(async |lane| (lane, query_lane(context, lane).await))).await
}

fn write_json(out: &mut impl Write, lanes: &LaneStatuses<'_>) -> std::io::Result<()> {
    lanes.iter().try_for_each(|(lane, status)| writeln!(out, "{}", json(lane, status)))
}

async fn query_lane(context: &CommandContext, lane: &LaneSettings) -> Result<TableStatus, store::Error> {
    let (status, target, queue) = tokio::join!(
        query_table(context, lane),
        transport_problem(context, lane),
        queue_problem(context, lane)
    );
    let mut status = status?;
    let problem = [status.problem.take(), target, queue]
        .into_iter()
        .flatten()
        .reduce(|first, second| format!("{first}, {second}"));
    Ok(TableStatus { problem, ..status })
}

async fn query_table(context: &CommandContext, lane: &LaneSettings) -> Result<TableStatus, store::Error> {
    let table = context.wiring.open(lane).await?;
    let stopped = match LaneContract::of(lane, Arc::clone(&table)) {
        Some(contract) => contract.has_stopped().await?,
        None => false,
    };
    Ok(TableStatus {
        paused: table.paused(&lane.name).await?,
        counts: table.count_by_state().await?,
        lag: table.lag().await?,
        problem: stopped.then(|| stopped_note(lane)),
        unknown_states: table.unknown_states().await?,
    })
}

/// Says that a worker stopped the lane, and what to do.
fn stopped_note(lane: &LaneSettings) -> String {
    let name = &lane.name;
    format!(
        "stopped: most of the first rows of its contract were rejected; see `postrider preview {name}`, or accept it with \
         `postrider resume {name}`"
    )
}

async fn transport_problem(context: &CommandContext, lane: &LaneSettings) -> Option<String> {
    // The transport creates its folder when it writes, and intake writes only to the disk: neither is probed.
    let target = context.settings.transports.get(&lane.transport)?;
    if target.kind == TransportKind::Folder {
        return None;
    }
    let probed = context.probe(lane).await;
    probed.err().map(|reason| format!("transport `{}`: {reason}", lane.transport))
}

async fn queue_problem(context: &CommandContext, lane: &LaneSettings) -> Option<String> {
    let name = lane.queue.as_ref()?;
    let reason = context.probe_queue(lane).await?.err()?;
    Some(format!("queue `{name}`: {reason}"))
}

fn json(lane: &LaneSettings, status: &Result<TableStatus, store::Error>) -> serde_json::Value {
    let mut object = serde_json::json!({
        "lane": lane.name,
        "contract": lane.contract.name,
        "stage": lane.contract.stages[lane.stage].name,
    });
    match status {
        Ok(status) => {
            object["paused"] = status.paused.into();
            object["states"] = serde_json::to_value(&status.counts).unwrap_or_default();
            object["trouble"] = status.problem.clone().into();
            object["warnings"] = status.unknown_states.clone().into();
            object["lag"] = serde_json::to_value(status.lag).unwrap_or_default();
        }
        Err(error) => object["error"] = error.to_string().into(),
    }
    object
}

fn add_rows(table: &mut TextTable, lane: &LaneSettings, status: &Result<TableStatus, store::Error>) {
    let status = match status {
        Ok(status) => status,
        Err(error) => {
            table.row(vec![lane.name.clone(), "?".to_owned(), String::new(), error.to_string()]);
            return;
        }
    };
    let mut notes = notes(status);
    for count in &status.counts {
        let cells = [lane.name.clone(), count.state.clone(), format_count(count), std::mem::take(&mut notes)];
        table.row(cells.into());
    }
}

fn format_count(count: &StateCount) -> String {
    if count.more { format!("{}+", count.rows) } else { count.rows.to_string() }
}

fn notes(status: &TableStatus) -> String {
    let mut notes = Vec::new();
    if status.paused {
        notes.push("paused".to_owned());
    }
    if let Some(seconds) = status.lag.oldest_due_seconds {
        notes.push(format!("oldest due row has waited {}", format_age(seconds)));
    }
    // A claim by a worker whose clock is ahead of the database's has a negative age, which is not shown.
    if let Some(seconds) = status.lag.oldest_claim_seconds.filter(|seconds| *seconds >= 0.0) {
        notes.push(format!("oldest claim is {} old", format_age(seconds)));
    }
    notes.extend(status.problem.clone());
    notes.extend(status.unknown_states.iter().cloned());
    notes.join(", ")
}

/// Formats an age with two units at most.
fn format_age(seconds: f64) -> String {
    let whole = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX).as_secs();
    match whole {
        0..60 => format!("{seconds:.1} s"),
        60..3_600 => format!("{} min {} s", whole / 60, whole % 60),
        3_600..86_400 => format!("{} h {} min", whole / 3_600, whole % 3_600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3_600),
    }
}
