//! `cancel`: rows that shall not be delivered any more.

use std::io::Write as _;

use postrider_seams::inspect::Which;

use super::Desk;
use crate::cli::CancelArgs;
use crate::failure::Failure;

pub async fn run(desk: &Desk, args: &CancelArgs) -> Result<(), Failure> {
    let (lane, table) = desk.table(&args.lane).await?;
    if lane.contract.cancel.is_none() {
        let text =
            format!("contract `{}` has no cancelled state: its rows can't be cancelled", lane.contract.name);
        return Err(Failure::Misuse(text));
    }
    let moved = table.cancel(&Which::Ids(args.ids.clone())).await?;
    writeln!(std::io::stdout(), "{moved}")?;
    eprintln!(
        "cancelled {moved} of {} rows; the others are missing, finished, or cancelled already",
        args.ids.len()
    );
    Ok(())
}
