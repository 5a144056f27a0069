//! `suppress`: manages the list of addresses and domains that receive no mail.

use std::collections::BTreeSet;
use std::sync::Arc;

use postrider_mail::Address;
use postrider_mail::address::parse_domain;
use postrider_seams::Suppressions;
use postrider_seams::suppression::folded;
use serde_json::json;

use super::CommandContext;
use crate::cli::{SuppressAddArgs, SuppressCommand, SuppressListArgs, SuppressRemoveArgs};
use crate::failure::Failure;
use crate::output::{Output, line};
use crate::text_table::{TextTable, one_line};
use crate::wiring::ComposerKind;

/// A store's name, and its list.
type List = (String, Arc<dyn Suppressions>);

/// The largest width of a cell, in characters.
const CELL: usize = 60;

/// Runs a `suppress` command on the lists of the chosen stores.
pub async fn run(context: &CommandContext, command: &SuppressCommand) -> Result<(), Failure> {
    match command {
        SuppressCommand::Add(args) => add(context, args).await,
        SuppressCommand::Remove(args) => remove(context, args).await,
        SuppressCommand::List(args) => list(context, args).await,
    }
}

async fn add(context: &CommandContext, args: &SuppressAddArgs) -> Result<(), Failure> {
    let (entries, output) = (parsed(&args.entries)?, Output::new(args.json));
    for (store, suppressions) in lists(context, args.store.as_deref())? {
        for entry in &entries {
            let new = suppressions.add(entry, &args.reason).await?;
            if output.is_json() {
                line(json!({ "entry": entry, "store": store, "new": new }))?;
            }
            let now = if new { "suppressed" } else { "was already suppressed" };
            output.note(format_args!("{entry}: {now} (store `{store}`)"));
        }
    }
    Ok(())
}

async fn remove(context: &CommandContext, args: &SuppressRemoveArgs) -> Result<(), Failure> {
    let (entries, output) = (parsed(&args.entries)?, Output::new(args.json));
    let mut missing: BTreeSet<&str> = entries.iter().map(String::as_str).collect();
    for (store, suppressions) in lists(context, args.store.as_deref())? {
        for entry in &entries {
            let removed = suppressions.remove(entry).await?;
            if output.is_json() {
                line(json!({ "entry": entry, "store": store, "removed": removed }))?;
            }
            if removed {
                missing.remove(entry.as_str());
                output.note(format_args!("{entry}: no longer suppressed (store `{store}`)"));
            }
        }
    }
    let missing: Vec<&str> = missing.into_iter().collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!("not on the list: {}", missing.join(", "))))
}

async fn list(context: &CommandContext, args: &SuppressListArgs) -> Result<(), Failure> {
    let lists = lists(context, args.store.as_deref())?;
    let [(_, suppressions)] = &lists[..] else {
        let names: Vec<&str> = lists.iter().map(|(store, _)| store.as_str()).collect();
        return Err(Failure::Misuse(format!(
            "each store has its own list: use --store {}",
            names.join(" or ")
        )));
    };
    // Read one entry more than is shown, to know whether there are more.
    let mut page = suppressions.page(args.after.as_deref(), args.limit.saturating_add(1)).await?;
    let more = page.len() > args.limit as usize;
    page.truncate(args.limit as usize);
    if args.json {
        page.iter().try_for_each(line)?;
    } else {
        let mut table = TextTable::new(&["entry", "since", "reason"]);
        for one in &page {
            table.row(vec![one_line(&one.entry, CELL), one.since.clone(), one_line(&one.reason, CELL)]);
        }
        table.write(&mut std::io::stdout().lock())?;
    }
    match page.last().filter(|_| more) {
        Some(last) if args.json => eprintln!("{}", json!({ "next": last.entry })),
        Some(last) => eprintln!("more entries: --after '{}'", last.entry),
        None => {}
    }
    Ok(())
}

/// The lists of the stores that mail lanes use, or of the named one.
fn lists(context: &CommandContext, store: Option<&str>) -> Result<Vec<List>, Failure> {
    let mails = |composer: &str| ComposerKind::of(composer).is_ok_and(ComposerKind::makes_mails);
    let stores: BTreeSet<&str> = if let Some(name) = store {
        if !context.settings.stores.contains_key(name) {
            let remedy = crate::settings::suggest(name, context.settings.stores.keys().map(String::as_str));
            return Err(Failure::Misuse(format!("no store `{name}`{remedy}")));
        }
        BTreeSet::from([name])
    } else {
        let lanes = context.settings.lanes.iter();
        let lanes = lanes.filter(|lane| mails(&lane.contract.stages[lane.stage].composer));
        lanes.map(|lane| lane.store.as_str()).collect()
    };
    if stores.is_empty() {
        return Err(Failure::Misuse("no lane sends mail: name a store with --store".to_owned()));
    }
    Ok(stores.into_iter().map(|name| (name.to_owned(), context.wiring.suppressions(name))).collect())
}

/// Normalizes the entries as the list stores them; the error lists every invalid one.
fn parsed(entries: &[String]) -> Result<Vec<String>, Failure> {
    let mut mistakes = Vec::new();
    let mut parsed = Vec::new();
    for entry in entries {
        let text = entry.trim();
        let domain = text.strip_prefix('@').unwrap_or(text);
        let read = if domain.contains('@') {
            Address::parse(text).map(|address| address.as_str().to_owned()).map_err(|error| error.to_string())
        } else {
            parse_domain(domain).ok_or_else(|| format!("`{domain}` is neither an address nor a domain"))
        };
        match read {
            Ok(entry) => parsed.push(folded(&entry)),
            Err(text) => mistakes.push(text),
        }
    }
    if mistakes.is_empty() { Ok(parsed) } else { Err(Failure::Misuse(mistakes.join("; "))) }
}
