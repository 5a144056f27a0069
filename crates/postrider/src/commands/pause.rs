//! `pause` and `resume`: pause or resume a lane for every instance on its database.

use serde_json::json;

use super::CommandContext;
use crate::cli::LaneArgs;
use crate::failure::Failure;
use crate::output::{Output, line};

/// Pauses or resumes the lane.
pub async fn run(context: &CommandContext, args: &LaneArgs, paused: bool) -> Result<(), Failure> {
    let (lane, table) = context.table(&args.lane).await?;
    table.set_paused(&lane.name, paused).await?;
    let now = if paused { "is paused and claims no more rows" } else { "is resumed" };
    let output = Output::new(args.json);
    if output.is_json() {
        line(json!({ "lane": lane.name, "paused": paused }))?;
    }
    output.note(format_args!("lane `{}` {now}, on every instance within seconds", lane.name));
    Ok(())
}
