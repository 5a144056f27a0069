//! `requeue`, `cancel`, `release`: move rows by id or by state.

use std::time::Duration;

use postrider_seams::inspect::{OperatorAction, Preview, SelectedRows};
use postrider_seams::store;
use serde_json::json;

use super::{CommandContext, check_state};
use crate::cli::MoveArgs;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::{Progress, counted};
use crate::settings::LaneSettings;
use crate::wiring::LaneTable;

const CHUNK: u32 = 500;

/// Returns the past participle of the action, for messages.
fn past_participle(action: OperatorAction) -> &'static str {
    match action {
        OperatorAction::Requeue => "requeued",
        OperatorAction::Cancel => "cancelled",
        OperatorAction::Release => "released",
    }
}

fn progress_label(action: OperatorAction) -> &'static str {
    match action {
        OperatorAction::Requeue => "rows requeued",
        OperatorAction::Cancel => "rows cancelled",
        OperatorAction::Release => "rows released",
    }
}

/// Moves the chosen rows, or with `--preview` counts them.
pub async fn run(context: &CommandContext, args: &MoveArgs, action: OperatorAction) -> Result<(), Failure> {
    let lane = context.lane(&args.lane)?;
    check_move(lane, action, args.state.as_deref())?;
    let since = match &args.since {
        None => None,
        Some(text) => Some(postrider_config::parse_duration(text.trim()).map_err(|_| {
            Failure::Misuse(format!("--since `{text}`: expected an age such as 30m, 12h or 7d"))
        })?),
    };
    let (_, table) = context.table(&args.lane).await?;
    let output = Output::new(args.json);
    let which = selection(args, since);
    if args.preview {
        return print_preview(output, &lane.name, table.preview(action, &which).await?);
    }
    let expected = match &args.state {
        // The total is only for the progress line, so it is counted only if that is shown.
        Some(state) if since.is_none() && Progress::is_visible(output) => {
            count_in_state(&*table, state).await?
        }
        _ => None,
    };
    let mut progress = Progress::new(progress_label(action), expected, output);
    loop {
        let moved = move_rows(&*table, action, &which).await?;
        progress.add(moved);
        if moved == 0 || args.state.is_none() {
            break;
        }
    }
    progress.finish();
    if action != OperatorAction::Cancel && progress.done() > 0 {
        context.wiring.publish_ready_rows(lane).await;
    }
    print_result(output, lane, args, action, progress.done())
}

/// Checks that the contract has such a move from that state.
fn check_move(lane: &LaneSettings, action: OperatorAction, state: Option<&str>) -> Result<(), Failure> {
    let contract = &lane.contract;
    let moves = action.moves(contract, &contract.stages[lane.stage]);
    if moves.is_empty() {
        let why = match action {
            OperatorAction::Cancel => "has no cancelled state, so its rows cannot be cancelled",
            OperatorAction::Release => "has no state for claimed rows; a claim ends with its lease",
            OperatorAction::Requeue => "has no way to requeue finished rows",
        };
        return Err(Failure::Misuse(format!("contract `{}` {why}", contract.name)));
    }
    let Some(state) = state else { return Ok(()) };
    check_state(lane, state)?;
    let names: Vec<&str> = moves.iter().map(|(from, _)| contract.state(*from).name.as_str()).collect();
    if names.contains(&state) {
        return Ok(());
    }
    let (action, names) = (action.name(), names.join(", "));
    Err(Failure::Misuse(format!("{action} is not possible for rows in `{state}`, only for rows in {names}")))
}

fn selection(args: &MoveArgs, since: Option<Duration>) -> SelectedRows {
    match &args.state {
        None => SelectedRows::Ids(args.ids.clone()),
        Some(state) => SelectedRows::State { state: state.clone(), since, limit: CHUNK },
    }
}

async fn move_rows(
    table: &dyn LaneTable,
    action: OperatorAction,
    which: &SelectedRows,
) -> Result<u64, store::Error> {
    match action {
        OperatorAction::Requeue => table.requeue(which).await,
        OperatorAction::Cancel => table.cancel(which).await,
        OperatorAction::Release => table.release(which).await,
    }
}

fn print_result(
    output: Output,
    lane: &LaneSettings,
    args: &MoveArgs,
    action: OperatorAction,
    moved: u64,
) -> Result<(), Failure> {
    let requested = args.ids.len() as u64;
    if moved < requested {
        let (left, name) = (requested - moved, action.name());
        let which =
            if requested == 1 { "the row is".to_owned() } else { format!("{left} of {requested} rows are") };
        output.note(format_args!("{which} missing, or not in a state that {name} moves from"));
    }
    if action == OperatorAction::Release && moved > 0 {
        output.note(
            "a worker that still holds one of them may have delivered it, so it may be delivered twice",
        );
    }
    let mut object = json!({ "lane": lane.name, past_participle(action): moved });
    if args.state.is_none() {
        object["asked"] = requested.into();
    }
    output.data(object, moved)
}

/// Prints how many rows would be moved; the count stops at 10,000.
fn print_preview(output: Output, lane: &str, preview: Preview) -> Result<(), Failure> {
    let over = if preview.more { "over " } else { "" };
    let rows = counted(preview.rows, "rows would be changed; nothing was changed");
    output.note(format_args!("{over}{rows}"));
    output.data(json!({ "lane": lane, "matched": preview.rows, "more": preview.more }), preview.rows)
}

/// The number of rows in the state; `None` if there are too many to count.
async fn count_in_state(table: &dyn LaneTable, state: &str) -> Result<Option<u64>, Failure> {
    let counts = table.count_by_state().await?;
    Ok(counts.iter().find(|count| count.state == state && !count.more).map(|count| count.rows))
}
