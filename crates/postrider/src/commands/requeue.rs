//! `requeue`: rows back to be tried, by id or by state.

use std::io::Write as _;

use postrider_seams::inspect::Which;

use super::{Desk, known_state};
use crate::cli::RequeueArgs;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::settings::duration;

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
    let mut progress = Progress::new("rows requeued");
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
    let asked = args.ids.len() as u64;
    if progress.total() < asked {
        eprintln!(
            "{} of {asked} rows are missing, or not in a state that can be requeued",
            asked - progress.total()
        );
    }
    writeln!(std::io::stdout(), "{}", progress.total())?;
    Ok(())
}
