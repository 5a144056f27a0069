//! `preview`: composes rows and shows each message as it would be sent, or why none can be made. Claims nothing and
//! sends nothing.

use std::collections::BTreeMap;
use std::io::Write;

use postrider_contract::StateId;
use postrider_seams::inspect::{Order, Query, RowView};
use postrider_server::{MessageView, NameValue, message};
use serde_json::json;

use super::CommandContext;
use crate::cli::PreviewArgs;
use crate::failure::Failure;
use crate::output::line;
use crate::preview::compose_row;
use crate::settings::LaneSettings;
use crate::text_table::one_line;
use crate::wiring::LaneTable;

/// The longest part of a body that is shown, in characters and lines.
const BODY_CHARS: usize = 400;
const BODY_LINES: usize = 8;
/// The longest header value that is shown.
const HEADER_CHARS: usize = 120;
/// Characters of a reason by which rows are counted together.
const REASON_CHARS: usize = 160;

/// Prints each row's message, and counts by reason.
pub async fn run(context: &CommandContext, args: &PreviewArgs) -> Result<(), Failure> {
    let (lane, table) = context.table(&args.lane).await?;
    let composer = context.wiring.composer(lane)?;
    let mut counts = Counts::default();
    for row in rows(lane, &*table, args).await? {
        let Some(composed) = compose_row(lane, &*table, &*composer, &row).await? else { continue };
        counts.add(composed.as_ref().err());
        let view = message(composed);
        if args.json {
            line(object(&row, &view))?;
        } else {
            print(&mut std::io::stdout().lock(), &row, &view)?;
        }
    }
    counts.print(lane, args.json)
}

/// The oldest rows in ready states, and with `--finished` the newest in final ones.
async fn rows(
    lane: &LaneSettings,
    table: &dyn LaneTable,
    args: &PreviewArgs,
) -> Result<Vec<RowView>, Failure> {
    let stage = &lane.contract.stages[lane.stage];
    let mut found = some_of(lane, table, &stage.ready, Order::Oldest, args.rows).await?;
    if args.finished {
        let mut finished = vec![stage.delivered, stage.dead, stage.rejected, stage.skipped];
        finished.sort_unstable_by_key(|state| state.0);
        finished.dedup();
        found.extend(some_of(lane, table, &finished, Order::Newest, args.rows).await?);
    }
    Ok(found)
}

/// Returns up to `limit` rows of these states, in turn.
async fn some_of(
    lane: &LaneSettings,
    table: &dyn LaneTable,
    states: &[StateId],
    order: Order,
    limit: u32,
) -> Result<Vec<RowView>, Failure> {
    let mut pages = Vec::new();
    for state in states {
        let state = Some(lane.contract.state(*state).name.clone());
        let query = Query { state, limit, order, ..Query::default() };
        pages.push(table.list(&query).await?.rows.into_iter());
    }
    let mut found = Vec::new();
    while found.len() < limit as usize {
        let before = found.len();
        found.extend(pages.iter_mut().filter_map(Iterator::next));
        if found.len() == before {
            break;
        }
    }
    found.truncate(limit as usize);
    Ok(found)
}

/// How many rows can be composed, and why the others cannot.
#[derive(Default)]
struct Counts {
    composed: u64,
    reasons: BTreeMap<String, u64>,
}

impl Counts {
    fn add(&mut self, problem: Option<&String>) {
        match problem {
            None => self.composed += 1,
            Some(reason) => *self.reasons.entry(one_line(reason, REASON_CHARS)).or_default() += 1,
        }
    }

    fn print(&self, lane: &LaneSettings, as_json: bool) -> Result<(), Failure> {
        let refused: u64 = self.reasons.values().sum();
        if as_json {
            let reasons = &self.reasons;
            let (lane, composed) = (&lane.name, self.composed);
            return line(
                json!({ "lane": lane, "composed": composed, "refused": refused, "reasons": reasons }),
            );
        }
        let mut out = std::io::stdout().lock();
        writeln!(out, "{} rows can be sent, {refused} cannot", self.composed)?;
        let mut reasons: Vec<(&String, &u64)> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, rows)| std::cmp::Reverse(**rows));
        for (reason, rows) in reasons {
            writeln!(out, "{rows:>6}  {reason}")?;
        }
        Ok(())
    }
}

/// The body, shortened, and whether it was.
fn body(view: &MessageView) -> Option<(String, bool)> {
    let whole = view.text.as_ref().or(view.payload.as_ref())?;
    let lines: Vec<&str> = whole.lines().take(BODY_LINES).collect();
    let short: String = lines.join("\n").chars().take(BODY_CHARS).collect();
    let was_cut = view.cut || short.len() < whole.trim_end().len();
    Some((short, was_cut))
}

fn pairs(values: &[NameValue]) -> serde_json::Value {
    let pairs = values.iter().map(|one| (one.name.clone(), one.value.clone().into()));
    pairs.collect::<serde_json::Map<_, _>>().into()
}

fn object(row: &RowView, view: &MessageView) -> serde_json::Value {
    let body = body(view);
    json!({
        "id": row.id, "state": row.state, "kind": view.kind, "problem": view.problem,
        "target": pairs(&view.facts), "headers": pairs(&view.headers),
        "body": body.as_ref().map(|(text, _)| text), "cut": body.as_ref().is_some_and(|(_, was_cut)| *was_cut),
    })
}

fn print(out: &mut impl Write, row: &RowView, view: &MessageView) -> Result<(), Failure> {
    let state = row.state.as_deref().unwrap_or("?");
    if let Some(problem) = &view.problem {
        writeln!(out, "row {} ({state}): cannot be sent: {problem}\n", row.id)?;
        return Ok(());
    }
    writeln!(out, "row {} ({state}): {}", row.id, view.kind)?;
    let value = |one: &NameValue| one_line(one.value.as_deref().unwrap_or_default(), HEADER_CHARS);
    for one in &view.facts {
        writeln!(out, "  {}: {}", one.name, value(one))?;
    }
    for one in &view.headers {
        writeln!(out, "  > {}: {}", one.name, value(one))?;
    }
    if let Some((text, was_cut)) = body(view) {
        for line in text.lines() {
            writeln!(out, "  | {line}")?;
        }
        if was_cut {
            writeln!(out, "  | …")?;
        }
    }
    writeln!(out)?;
    Ok(())
}
