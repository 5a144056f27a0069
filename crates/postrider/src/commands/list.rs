//! `list`: prints one page of rows.

use std::io::Write as _;

use postrider_contract::{ColumnRole, Contract};
use postrider_seams::inspect::{Matching, Order, Query, RowView, Search, SearchBy};
use serde_json::{Map, Value};

use super::{CommandContext, check_state};
use crate::cli::ListArgs;
use crate::failure::Failure;
use crate::text_table::{TextTable, one_line};
use crate::wiring::StoreKind;

/// The largest width of a cell, in characters.
const CELL: usize = 48;

/// Prints the page, and how to get the next one.
pub async fn run(context: &CommandContext, args: &ListArgs) -> Result<(), Failure> {
    let lane = context.lane(&args.lane)?;
    if let Some(state) = &args.state {
        check_state(lane, state)?;
    }
    if args.oldest && context.settings.stores[&lane.store].kind == StoreKind::DynamoDb {
        let text = "--oldest: DynamoDB keeps rows in no order of time; leave it out";
        return Err(Failure::Misuse(text.to_owned()));
    }
    let (_, table) = context.table(&args.lane).await?;
    let query = Query {
        state: args.state.clone(),
        limit: args.limit,
        after: args.after.clone(),
        order: if args.oldest { Order::Oldest } else { Order::Newest },
        search: args.search.as_deref().map(|text| parse_search(text, args.prefix)).transpose()?,
        brief: false,
    };
    let page = table.list(&query).await?;
    let mut out = std::io::stdout().lock();
    if args.json {
        for row in &page.rows {
            writeln!(out, "{}", json(row))?;
        }
    } else {
        text_table(&lane.contract, &page.rows).write(&mut out)?;
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
fn parse_search(text: &str, prefix: bool) -> Result<Search, Failure> {
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

fn text_table(contract: &Contract, rows: &[RowView]) -> TextTable {
    let mut table = TextTable::new(&["id", "state", ">tries", "due", "to", "error"]);
    let to = target(contract);
    for row in rows {
        let cell = |column: Option<&str>| {
            let found = column.and_then(|column| row.columns.iter().find(|(name, _)| name == column));
            found
                .and_then(|(_, value)| value.as_deref())
                .map_or_else(String::new, |value| one_line(value, CELL))
        };
        table.row(vec![
            row.id.clone(),
            row.state.clone().unwrap_or_else(|| "?".to_owned()),
            cell(contract.column(ColumnRole::Attempts)),
            cell(contract.column(ColumnRole::Due).filter(|_| has_due_time(contract, row))),
            cell(to.as_deref()),
            cell(contract.column(ColumnRole::Error)),
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
fn has_due_time(contract: &Contract, row: &RowView) -> bool {
    let state = row.state.as_deref().and_then(|name| contract.state_named(name));
    state.is_some_and(|state| {
        contract.is_ready(state) || !(contract.is_final(state) || contract.is_claimed(state))
    })
}
