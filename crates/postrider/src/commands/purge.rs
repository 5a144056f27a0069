//! `purge`: runs a lane's purge now instead of on its timer.

use serde_json::json;

use super::CommandContext;
use crate::cli::LaneArgs;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::Progress;

/// Rows per transaction: an unbounded DELETE would block the table for everyone.
const CHUNK: u32 = 1_000;

/// Deletes the rows whose retention has passed, chunk by chunk.
pub async fn run(context: &CommandContext, args: &LaneArgs) -> Result<(), Failure> {
    let (lane, table) = context.table(&args.lane).await?;
    let output = Output::new(args.json);
    if lane.contract.retention.is_empty() {
        let name = &lane.name;
        output.note(format_args!(
            "lane `{name}` keeps its rows forever; to change that, set [lanes.{name}.retention] STATE = \"30d\""
        ));
    }
    let mut progress = Progress::new("rows deleted", None, output);
    loop {
        let deleted = table.purge(CHUNK).await?;
        if deleted == 0 {
            break;
        }
        progress.add(deleted);
    }
    progress.finish();
    output.data(json!({ "lane": lane.name, "deleted": progress.done() }), progress.done())
}
