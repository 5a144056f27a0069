//! `list`: prints one page of rows.

use std::io::Write as _;

use postrider_contract::{Contract, Role};
use postrider_seams::inspect::{Matching, Order, Query, RowView, Search, SearchBy};
use serde_json::{Map, Value};

use super::{Desk, known_state};
use crate::cli::ListArgs;
use crate::failure::Failure;
use crate::table::{Table, plain};

/// The largest width of a cell, in characters.
const CELL: usize = 48;

/// Prints the page, and how to get the next one.
pub async fn run(desk: &Desk, args: &ListArgs) -> Result<(), Failure> {
    let lane = desk.lane(&args.lane)?;
    if let Some(state) = &args.state {
        known_state(lane, state)?;
    }
    let (_, table) = desk.table(&args.lane).await?;
    let query = Query {
        state: args.state.clone(),
        limit: args.limit,
        after: args.after.clone(),
        order: if args.oldest { Order::Oldest } else { Order::Newest },
        search: args.search.as_deref().map(|text| search(text, args.prefix)).transpose()?,
        brief: false,
    };
    let page = table.browse(&query).await?;
    let mut out = std::io::stdout().lock();
    if args.json {
        for row in &page.rows {
            writeln!(out, "{}", json(row))?;
        }
    } else {
        people(&lane.contract, &page.rows).write(&mut out)?;
    }
    if let Some(note) = page.note.as_ref().filter(|_| !args.json) {
        eprintln!("{note}");
    }
    match &page.next {
        Some(next) if args.json => eprintln!("{}", serde_json::json!({ "next": next })),
        Some(next) => eprintln!("more entries: --after '{next}'"),
        None => {}
    }
    Ok(())
}

/// Parses a search of the form `by=text`.
fn search(text: &str, prefix: bool) -> Result<Search, Failure> {
    let (by, text) = text.split_once('=').unwrap_or((text, ""));
    let by = SearchBy::from_name(by).filter(|_| !text.is_empty()).ok_or_else(|| {
        let known = SearchBy::ALL.map(SearchBy::name).join("=…, ");
        Failure::Misuse(format!("--search must be one of {known}=…"))
    })?;
    let matching = if prefix { Matching::Prefix } else { Matching::Exact };
    Ok(Search { by, text: text.to_owned(), matching })
}

fn json(row: &RowView) -> Value {
    let text = |value: &Option<String>| value.clone().map_or(Value::Null, Value::String);
    let columns: Map<String, Value> =
        row.columns.iter().map(|(name, value)| (name.clone(), text(value))).collect();
    serde_json::json!({ "id": row.id, "state": row.state, "columns": columns })
}

fn people(contract: &Contract, rows: &[RowView]) -> Table {
    let mut table = Table::new(&["id", "state", ">tries", "due", "to", "error"]);
    let to = target(contract);
    for row in rows {
        let cell = |column: Option<&str>| {
            let found = column.and_then(|column| row.columns.iter().find(|(name, _)| name == column));
            found.and_then(|(_, value)| value.as_deref()).map_or_else(String::new, |value| plain(value, CELL))
        };
        table.row(vec![
            row.id.clone(),
            row.state.clone().unwrap_or_else(|| "?".to_owned()),
            cell(contract.column(Role::Attempts)),
            cell(contract.column(Role::Due).filter(|_| waits(contract, row))),
            cell(to.as_deref()),
            cell(contract.column(Role::Error)),
        ]);
    }
    table
}

/// The column that holds the target of a row: the recipients, the URL or the topic.
fn target(contract: &Contract) -> Option<String> {
    let topic = || contract.message_columns().into_iter().find(|(field, _)| field == "topic");
    SearchBy::Recipient.column(contract).or_else(|| topic().map(|(_, column)| column))
}

/// Whether the due time of a row matters: not while it is claimed, nor in a final state.
fn waits(contract: &Contract, row: &RowView) -> bool {
    let state = row.state.as_deref().and_then(|name| contract.state_named(name));
    state.is_some_and(|state| {
        contract.is_ready(state) || !(contract.is_final(state) || contract.is_claimed(state))
    })
}
