//! `migrate`: makes tables, or adds what they lack. It never drops, rewrites, or fails on duplicates.

use std::io::Write as _;
use std::path::PathBuf;

use postrider_seams::migrate::Options;

use super::Desk;
use crate::api;
use crate::cli::MigrateArgs;
use crate::failure::Failure;
use crate::wiring::Absent;

pub async fn run(config: Option<PathBuf>, args: &MigrateArgs) -> Result<(), Failure> {
    let desk = Desk::open_with(config, if args.print { Absent::Imagine } else { Absent::Make })?;
    let options = Options { notify: args.notify };
    let mut out = std::io::stdout().lock();
    for lane in desk.lanes(&args.lanes)? {
        let migration = desk.wiring.migration(lane);
        let statements = if args.print {
            migration.plan(options).await?
        } else {
            eprintln!("lane `{}`: preparing table `{}`", lane.name, lane.contract.table.name);
            migration.apply(options).await?
        };
        if statements.is_empty() {
            eprintln!("lane `{}`: nothing is missing", lane.name);
        }
        for statement in &statements {
            writeln!(out, "{};", statement.trim_end_matches([';', '\n']))?;
        }
    }
    if args.lanes.is_empty() {
        for statement in &api::migrate(&desk, args.print).await? {
            writeln!(out, "{};", statement.trim_end_matches([';', '\n']))?;
        }
    }
    Ok(())
}
