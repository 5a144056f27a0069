//! `migrate`: creates tables, or adds what they lack. It never drops or rewrites anything, nor fails on duplicates.

use std::io::Write as _;
use std::path::PathBuf;

use postrider_seams::migrate::{Migrate, Options};
use postrider_seams::store::Error;
use serde_json::json;

use super::Desk;
use crate::api;
use crate::cli::MigrateArgs;
use crate::failure::Failure;
use crate::output::{Output, line};
use crate::progress::watched;
use crate::settings::LaneSettings;
use crate::wiring::Absent;

/// Migrates the chosen lanes and the API's tables; with `--print`, prints the statements instead.
pub async fn run(config: Option<PathBuf>, args: &MigrateArgs) -> Result<(), Failure> {
    let desk = Desk::open_with(config, if args.print { Absent::Imagine } else { Absent::Make })?;
    let options = Options { notify: args.notify, search: args.search };
    let output = Output::new(args.json);
    let lanes = desk.lanes(&args.lanes)?;
    for (index, lane) in lanes.iter().enumerate() {
        let migration = desk.wiring.migration(lane);
        let (name, table) = (&lane.name, &lane.contract.table.name);
        let statements = if args.print {
            migration.plan(options).await?
        } else {
            output.note(format_args!("lane `{name}`: preparing table `{table}`"));
            let what = format!("lane `{name}` ({} of {})", index + 1, lanes.len());
            watched(&what, output, applied(&*migration, options)).await?
        };
        if statements.is_empty() {
            output.note(format_args!("lane `{name}`: nothing is missing"));
        }
        let queue = queue(&desk, lane, args.print).await?;
        let mut head = json!({ "lane": name, "table": table, "applied": !args.print });
        if lane.queue.is_some() {
            head["queue"] = queue.clone().into();
        }
        print(output, head, &statements)?;
        if !output.is_json() {
            let mut out = std::io::stdout().lock();
            queue.iter().try_for_each(|line| writeln!(out, "-- {line}"))?;
        }
    }
    if let Some(store) = desk.settings.api_store().filter(|_| args.lanes.is_empty()) {
        let statements = watched("the API's tables", output, api::migrate(&desk, args.print)).await?;
        print(output, json!({ "api": store, "applied": !args.print }), &statements)?;
    }
    Ok(())
}

/// Creates the table, then the indexes for listing and searching rows.
async fn applied(migration: &dyn Migrate, options: Options) -> Result<Vec<String>, Error> {
    let mut ran = migration.apply(Options { search: false, ..options }).await?;
    if options.search {
        ran.extend(migration.apply(options).await?);
    }
    Ok(ran)
}

fn print(output: Output, mut head: serde_json::Value, statements: &[String]) -> Result<(), Failure> {
    let bare = statements.iter().map(|statement| statement.trim_end_matches([';', '\n']));
    if output.is_json() {
        head["statements"] = bare.collect();
        return line(head);
    }
    let mut out = std::io::stdout().lock();
    for statement in bare {
        writeln!(out, "{statement};")?;
    }
    Ok(())
}

/// Creates the lane's external queue; with `print`, returns what it lacks.
async fn queue(desk: &Desk, lane: &LaneSettings, print: bool) -> Result<Vec<String>, Failure> {
    let (Some(queue), Some(name)) = (desk.wiring.queue(lane)?, &lane.queue) else { return Ok(Vec::new()) };
    if print {
        let missing = queue.probe().await.err();
        return Ok(missing.map(|error| format!("queue `{name}`: {error}")).into_iter().collect());
    }
    let made = queue.declare().await.map_err(|error| Failure::Failed(format!("queue `{name}`: {error}")))?;
    Ok(made.into_iter().map(|made| format!("queue `{name}`: created the {made}")).collect())
}
