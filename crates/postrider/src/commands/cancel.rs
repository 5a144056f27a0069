//! `cancel`: rows that shall not be delivered any more.

use postrider_seams::inspect::{Verb, Which};
use serde_json::json;

use super::Desk;
use super::requeue::previewed;
use crate::cli::CancelArgs;
use crate::failure::Failure;
use crate::output::Output;

pub async fn run(desk: &Desk, args: &CancelArgs) -> Result<(), Failure> {
    let (lane, table) = desk.table(&args.lane).await?;
    if lane.contract.cancel.is_none() {
        let text =
            format!("contract `{}` has no cancelled state: its rows can't be cancelled", lane.contract.name);
        return Err(Failure::Misuse(text));
    }
    let which = Which::Ids(args.ids.clone());
    let (output, asked) = (Output::new(args.json), args.ids.len());
    if args.preview {
        return previewed(output, &lane.name, table.preview(Verb::Cancel, &which).await?);
    }
    let moved = table.cancel(&which).await?;
    output.data(json!({ "lane": lane.name, "cancelled": moved, "asked": asked }), moved)?;
    output.note(format_args!(
        "cancelled {moved} of {asked} rows; the others are missing, finished, or cancelled already"
    ));
    Ok(())
}
