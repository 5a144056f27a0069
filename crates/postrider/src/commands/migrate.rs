//! `migrate`: creates tables, or adds what they lack. It never drops or rewrites anything, nor fails on duplicates.

use std::io::Write as _;
use std::path::PathBuf;

use postrider_seams::migrate::{Migrate, MigrateOptions};
use postrider_seams::store::Error;
use serde_json::json;

use super::CommandContext;
use crate::api;
use crate::cli::MigrateArgs;
use crate::failure::Failure;
use crate::output::{Output, line};
use crate::progress::with_timer;
use crate::settings::LaneSettings;
use crate::wiring::{MissingFile, StoreKind};

/// Migrates the chosen lanes and the API's tables; with `--print`, prints the statements instead.
pub async fn run(config: Option<PathBuf>, args: &MigrateArgs) -> Result<(), Failure> {
    let context = CommandContext::open_with(
        config,
        if args.print { MissingFile::TreatAsEmpty } else { MissingFile::Create },
    )?;
    let options = MigrateOptions { notify: !args.no_notify, search: args.search };
    let output = Output::new(args.json);
    let lanes = context.lanes(&args.lanes)?;
    if args.notify {
        check_flag(&context, &lanes, ("--notify", "PostgreSQL"), |kind| kind == StoreKind::Postgres)?;
    }
    if args.no_notify && !lanes.iter().any(|lane| context.kind_of(lane) == StoreKind::Postgres) {
        let text = "--no-notify is for PostgreSQL only, and these lanes are on other databases: leave it out";
        return Err(Failure::Misuse(text.to_owned()));
    }
    if args.search {
        let sql = ("--search", "PostgreSQL, MySQL and SQLite");
        check_flag(&context, &lanes, sql, |kind| kind != StoreKind::DynamoDb)?;
    }
    for (index, lane) in lanes.iter().enumerate() {
        let migration = context.wiring.migration(lane);
        let (name, table) = (&lane.name, &lane.contract.table.name);
        let statements = if args.print {
            migration.plan(options).await?
        } else {
            output.note(format_args!("lane `{name}`: preparing table `{table}`"));
            let what = format!("lane `{name}` ({} of {})", index + 1, lanes.len());
            with_timer(&what, output, apply(&*migration, options)).await?
        };
        if statements.is_empty() {
            output.note(format_args!("lane `{name}`: nothing is missing"));
        }
        let queue = declare_queue(&context, lane, args.print).await?;
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
    if let Some(store) = context.settings.api_store().filter(|_| args.lanes.is_empty()) {
        let statements =
            with_timer("the API's tables", output, api::migrate(&context, args.print, options.notify))
                .await?;
        print(output, json!({ "api": store, "applied": !args.print }), &statements)?;
    }
    Ok(())
}

/// Refuses a flag for lanes on whose kind of store it would do nothing. `databases` names those on which it does.
fn check_flag(
    context: &CommandContext,
    lanes: &[&LaneSettings],
    (flag, databases): (&str, &str),
    works: impl Fn(StoreKind) -> bool,
) -> Result<(), Failure> {
    let others = lanes.iter().filter(|lane| !works(context.kind_of(lane)));
    let others: Vec<String> = others.map(|lane| format!("`{}`", lane.name)).collect();
    if others.is_empty() {
        return Ok(());
    }
    Err(Failure::Misuse(format!(
        "{flag} is for {databases} only, and these lanes are on another database: {}; name the lanes that it is for, or leave it \
         out",
        others.join(", ")
    )))
}

/// Creates the table, then the indexes for listing and searching rows.
async fn apply(migration: &dyn Migrate, options: MigrateOptions) -> Result<Vec<String>, Error> {
    let mut ran = migration.apply(MigrateOptions { search: false, ..options }).await?;
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
async fn declare_queue(
    context: &CommandContext,
    lane: &LaneSettings,
    print: bool,
) -> Result<Vec<String>, Failure> {
    let (Some(queue), Some(name)) = (context.wiring.queue(lane)?, &lane.queue) else { return Ok(Vec::new()) };
    if print {
        let missing = queue.probe().await.err();
        return Ok(missing.map(|error| format!("queue `{name}`: {error}")).into_iter().collect());
    }
    let created =
        queue.declare().await.map_err(|error| Failure::Failed(format!("queue `{name}`: {error}")))?;
    Ok(created.into_iter().map(|part| format!("queue `{name}`: created the {part}")).collect())
}
