//! `status`: shows every lane's rows by state, and its lag.

mod watch;

use std::io::Write;
use std::time::Duration;

use futures::future::join_all;
use postrider_seams::inspect::{Count, Lag};
use postrider_seams::store;

use super::Desk;
use crate::cli::StatusArgs;
use crate::failure::Failure;
use crate::settings::LaneSettings;
use crate::table::Table;
use crate::wiring::TransportKind;

/// The figures of one lane's table, and the state of its target.
struct Seen {
    paused: bool,
    counts: Vec<Count>,
    lag: Lag,
    /// The reason why nothing can be delivered now.
    trouble: Option<String>,
    /// Rows in unknown states, which no lane claims, described in words.
    strange: Vec<String>,
}

/// Prints the status of every lane once, or repeatedly with `--watch`.
pub async fn run(desk: &Desk, args: &StatusArgs) -> Result<(), Failure> {
    if let Some(seconds) = args.watch {
        return watch::run(desk, args.json, Duration::from_secs(seconds)).await;
    }
    let lanes = look_at_all(desk).await;
    let mut out = std::io::stdout().lock();
    if args.json {
        write_json(&mut out, &lanes)?;
    } else {
        let mut table = Table::new(&["lane", "state", ">rows", "note"]);
        for (lane, seen) in &lanes {
            people(&mut table, lane, seen);
        }
        table.write(&mut out)?;
    }
    if lanes.iter().any(|(_, seen)| seen.is_err()) { Err(Failure::Reported) } else { Ok(()) }
}

/// Every lane with the status of its table.
type Lanes<'a> = Vec<(&'a LaneSettings, Result<Seen, store::Error>)>;

async fn look_at_all(desk: &Desk) -> Lanes<'_> {
    // Query all lanes concurrently: each unavailable server waits for its own timeout.
    join_all(desk.settings.lanes.iter().map(async |lane| (lane, look(desk, lane).await))).await
}

fn write_json(out: &mut impl Write, lanes: &Lanes<'_>) -> std::io::Result<()> {
    lanes.iter().try_for_each(|(lane, seen)| writeln!(out, "{}", json(lane, seen)))
}

async fn look(desk: &Desk, lane: &LaneSettings) -> Result<Seen, store::Error> {
    let (seen, target, queue) =
        tokio::join!(look_at_table(desk, lane), trouble(desk, lane), queue_trouble(desk, lane));
    let trouble = [target, queue].into_iter().flatten().reduce(|first, second| format!("{first}, {second}"));
    Ok(Seen { trouble, ..seen? })
}

async fn look_at_table(desk: &Desk, lane: &LaneSettings) -> Result<Seen, store::Error> {
    let table = desk.wiring.open(lane).await?;
    Ok(Seen {
        paused: table.paused(&lane.name).await?,
        counts: table.census().await?,
        lag: table.lag().await?,
        trouble: None,
        strange: table.strange().await?,
    })
}

async fn trouble(desk: &Desk, lane: &LaneSettings) -> Option<String> {
    // The transport creates its folder when it writes, and intake writes only to the disk: neither is probed.
    let target = desk.settings.transports.get(&lane.transport)?;
    if target.kind == TransportKind::Folder {
        return None;
    }
    let probed = desk.probe(lane).await;
    probed.err().map(|reason| format!("transport `{}`: {reason}", lane.transport))
}

async fn queue_trouble(desk: &Desk, lane: &LaneSettings) -> Option<String> {
    let name = lane.queue.as_ref()?;
    let reason = desk.probe_queue(lane).await?.err()?;
    Some(format!("queue `{name}`: {reason}"))
}

fn json(lane: &LaneSettings, seen: &Result<Seen, store::Error>) -> serde_json::Value {
    let mut object = serde_json::json!({
        "lane": lane.name,
        "contract": lane.contract.name,
        "stage": lane.contract.stages[lane.stage].name,
    });
    match seen {
        Ok(seen) => {
            object["paused"] = seen.paused.into();
            object["states"] = serde_json::to_value(&seen.counts).unwrap_or_default();
            object["trouble"] = seen.trouble.clone().into();
            object["warnings"] = seen.strange.clone().into();
            object["lag"] = serde_json::to_value(seen.lag).unwrap_or_default();
        }
        Err(error) => object["error"] = error.to_string().into(),
    }
    object
}

fn people(table: &mut Table, lane: &LaneSettings, seen: &Result<Seen, store::Error>) {
    let seen = match seen {
        Ok(seen) => seen,
        Err(error) => {
            table.row(vec![lane.name.clone(), "?".to_owned(), String::new(), error.to_string()]);
            return;
        }
    };
    let mut notes = notes(seen);
    for count in &seen.counts {
        let cells = [lane.name.clone(), count.state.clone(), shown_rows(count), std::mem::take(&mut notes)];
        table.row(cells.into());
    }
}

fn shown_rows(count: &Count) -> String {
    if count.more { format!("{}+", count.rows) } else { count.rows.to_string() }
}

fn notes(seen: &Seen) -> String {
    let mut notes = Vec::new();
    if seen.paused {
        notes.push("paused".to_owned());
    }
    if let Some(seconds) = seen.lag.oldest_due_seconds {
        notes.push(format!("oldest due row has waited {}", ago(seconds)));
    }
    // A claim by a worker whose clock is ahead of the database's has a negative age, which is not shown.
    if let Some(seconds) = seen.lag.oldest_claim_seconds.filter(|seconds| *seconds >= 0.0) {
        notes.push(format!("oldest claim is {} old", ago(seconds)));
    }
    notes.extend(seen.trouble.clone());
    notes.extend(seen.strange.iter().cloned());
    notes.join(", ")
}

/// Formats an age with two units at most.
fn ago(seconds: f64) -> String {
    let whole = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX).as_secs();
    match whole {
        0..60 => format!("{seconds:.1} s"),
        60..3_600 => format!("{} min {} s", whole / 60, whole % 60),
        3_600..86_400 => format!("{} h {} min", whole / 3_600, whole % 3_600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3_600),
    }
}
