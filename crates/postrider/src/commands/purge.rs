//! `purge`: the lane's own purge, now instead of on its timer.

use std::io::Write as _;

use super::Desk;
use crate::cli::LaneArgs;
use crate::failure::Failure;
use crate::progress::Progress;

/// Short transactions: an unbounded DELETE stalls the table for everyone.
const CHUNK: u32 = 1_000;

pub async fn run(desk: &Desk, args: &LaneArgs) -> Result<(), Failure> {
    let (lane, table) = desk.table(&args.lane).await?;
    if lane.contract.retention.is_empty() {
        eprintln!(
            "lane `{}` keeps its rows for ever: set [lanes.{}.retention] STATE = \"30d\" to change that",
            lane.name, lane.name
        );
    }
    let mut progress = Progress::new("rows deleted");
    loop {
        let deleted = table.purge(CHUNK).await?;
        if deleted == 0 {
            break;
        }
        progress.add(deleted);
    }
    progress.finish();
    writeln!(std::io::stdout(), "{}", progress.total())?;
    Ok(())
}
