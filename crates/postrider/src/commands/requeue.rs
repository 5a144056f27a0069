//! `requeue`: rows back to be tried, by id or by state.

use postrider_seams::inspect::{Preview, Verb, Which};
use serde_json::json;

use super::{Desk, known_state};
use crate::cli::RequeueArgs;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::Progress;
use crate::settings::duration;
use crate::wiring::Table;

const CHUNK: u32 = 500;

pub async fn run(desk: &Desk, args: &RequeueArgs) -> Result<(), Failure> {
    let lane = desk.lane(&args.lane)?;
    if let Some(state) = &args.state {
        known_state(lane, state)?;
    }
    let since = match &args.since {
        None => None,
        Some(text) => Some(duration(text).ok_or_else(|| {
            Failure::Misuse(format!("--since `{text}`: expected an age such as 30m, 12h or 7d"))
        })?),
    };
    let (_, table) = desk.table(&args.lane).await?;
    let output = Output::new(args.json);
    if args.preview {
        let which = match &args.state {
            None => Which::Ids(args.ids.clone()),
            Some(state) => Which::State { state: state.clone(), since, limit: CHUNK },
        };
        return previewed(output, &lane.name, table.preview(Verb::Requeue, &which).await?);
    }
    let expected = match &args.state {
        // Only to say how much is left: who can't see it needs no count.
        Some(state) if since.is_none() && Progress::is_seen(output) => counted(&*table, state).await?,
        _ => None,
    };
    let mut progress = Progress::new("rows requeued", expected, output);
    match &args.state {
        None => progress.add(table.requeue(&Which::Ids(args.ids.clone())).await?),
        Some(state) => loop {
            let moved = table.requeue(&Which::State { state: state.clone(), since, limit: CHUNK }).await?;
            if moved == 0 {
                break;
            }
            progress.add(moved);
        },
    }
    progress.finish();
    let (moved, asked) = (progress.done(), args.ids.len() as u64);
    if moved < asked {
        let left = asked - moved;
        output
            .note(format_args!("{left} of {asked} rows are missing, or not in a state that can be requeued"));
    }
    let mut object = json!({ "lane": lane.name, "requeued": moved });
    if args.state.is_none() {
        object["asked"] = asked.into();
    }
    output.data(object, moved)
}

/// What would be moved: a number, which stops at 10,000.
pub fn previewed(output: Output, lane: &str, preview: Preview) -> Result<(), Failure> {
    let over = if preview.more { "over " } else { "" };
    output.note(format_args!("{over}{} rows would be moved; nothing was", preview.rows));
    output.data(json!({ "lane": lane, "matched": preview.rows, "more": preview.more }), preview.rows)
}

/// How many rows are in the state; `None` where they are too many to count.
async fn counted(table: &dyn Table, state: &str) -> Result<Option<u64>, Failure> {
    let counts = table.census().await?;
    Ok(counts.iter().find(|count| count.state == state && !count.more).map(|count| count.rows))
}
