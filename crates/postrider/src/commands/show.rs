//! `show`: prints one row with all its columns.

use std::io::Write as _;

use serde_json::{Map, Value};

use super::CommandContext;
use crate::cli::ShowArgs;
use crate::failure::Failure;
use crate::text_table::one_line;

/// Characters after which a column's text is cut; `--json` prints all of it.
const SHOWN: usize = 2_000;

/// Prints the row; an error if there is none with this id.
pub async fn run(context: &CommandContext, args: &ShowArgs) -> Result<(), Failure> {
    let (lane, table) = context.table(&args.lane).await?;
    let row = table.show(&args.id).await?.ok_or_else(|| {
        Failure::Failed(format!(
            "lane `{}` has no row `{}` in table `{}`",
            lane.name, args.id, lane.contract.table.name
        ))
    })?;
    let mut out = std::io::stdout().lock();
    if args.json {
        let columns: Map<String, Value> = row
            .columns
            .into_iter()
            .map(|(name, value)| (name, value.map_or(Value::Null, Value::String)))
            .collect();
        let whole = serde_json::json!({ "id": row.id, "state": row.state, "columns": columns });
        writeln!(out, "{whole}")?;
        return Ok(());
    }
    let width = row.columns.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    writeln!(out, "{:width$}  {}", "(state)", row.state.as_deref().unwrap_or("not a state of the contract"))?;
    for (name, value) in &row.columns {
        let shown = value.as_deref().map_or_else(|| "NULL".to_owned(), |value| one_line(value, SHOWN));
        writeln!(out, "{name:width$}  {shown}")?;
    }
    Ok(())
}
