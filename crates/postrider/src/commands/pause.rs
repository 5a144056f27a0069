//! `pause` and `resume`: pause or resume a lane for every instance on its database.

use std::sync::Arc;

use postrider_seams::ContractMemory as _;
use serde_json::json;

use super::CommandContext;
use crate::cli::LaneArgs;
use crate::contract_memory::LaneContract;
use crate::failure::Failure;
use crate::output::{Output, line};

/// Pauses or resumes the lane. Resuming a lane that stopped because of its contract accepts the contract.
pub async fn run(context: &CommandContext, args: &LaneArgs, paused: bool) -> Result<(), Failure> {
    let (lane, table) = context.table(&args.lane).await?;
    table.set_paused(&lane.name, paused).await?;
    if let Some(contract) = LaneContract::of(lane, Arc::clone(&table))
        && !paused
        && contract.has_stopped().await?
    {
        contract.remember_good().await?;
    }
    let now = if paused { "is paused and claims no more rows" } else { "is resumed" };
    let output = Output::new(args.json);
    if output.is_json() {
        line(json!({ "lane": lane.name, "paused": paused }))?;
    }
    output.note(format_args!("lane `{}` {now}, on every instance within seconds", lane.name));
    Ok(())
}
