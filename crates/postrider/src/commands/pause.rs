//! `pause` and `resume`: for every instance on the lane's database.

use super::Desk;
use crate::cli::LaneArgs;
use crate::failure::Failure;

pub async fn run(desk: &Desk, args: &LaneArgs, paused: bool) -> Result<(), Failure> {
    let (lane, table) = desk.table(&args.lane).await?;
    table.set_paused(&lane.name, paused).await?;
    let now = if paused { "is paused: nothing more is claimed" } else { "goes on" };
    eprintln!("lane `{}` {now}, on every instance within seconds", lane.name);
    Ok(())
}
