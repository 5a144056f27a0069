//! `check`: shows what each lane's table guarantees, what it lacks, and the SQL to fix it. Changes nothing.

use std::io::Write;

use futures::future::join_all;
use postrider_seams::inspect::{Finding, Level};
use postrider_seams::migrate::MigrateOptions;
use postrider_seams::store::{self, Class};
use postrider_seams::transport::Probe;
use serde_json::json;

use super::{CommandContext, missing_locks};
use crate::cli::CheckArgs;
use crate::clocks;
use crate::emails::files;
use crate::failure::Failure;
use crate::settings::LaneSettings;
use crate::wiring::LaneTable;

/// The result for one lane.
struct Report {
    lane: String,
    contract: String,
    ok: bool,
    findings: Vec<Finding>,
    /// DDL statements to run, in order.
    fixes: Vec<String>,
    /// The number of statements, from the first, that `migrate` would run.
    migrates: usize,
}

impl Report {
    /// Each `fix` also has its former name `mend`, for programs that know only that one.
    fn json(&self) -> serde_json::Value {
        json!({
            "lane": self.lane, "contract": self.contract, "ok": self.ok,
            "findings": self.findings.iter().map(finding_json).collect::<Vec<_>>(),
            "fix": self.fixes, "mend": self.fixes,
        })
    }
}

/// A finding as an object.
pub fn finding_json(finding: &Finding) -> serde_json::Value {
    let Finding { level, text, fix } = finding;
    json!({ "level": level, "text": text, "fix": fix, "mend": fix })
}

/// Checks the chosen lanes; an error if any of them has a finding that prevents deliveries.
pub async fn run(context: &CommandContext, args: &CheckArgs) -> Result<(), Failure> {
    let lanes = context.lanes(&args.lanes)?;
    // Check all lanes concurrently: each unavailable server waits for its own timeout.
    let reports = join_all(lanes.iter().map(|lane| check_lane(context, lane))).await;
    let mut out = std::io::stdout().lock();
    let mut all_ok = true;
    for (lane, report) in lanes.into_iter().zip(reports) {
        all_ok &= report.ok;
        if args.json {
            writeln!(out, "{}", report.json())?;
        } else {
            print_text(&mut out, lane, &report)?;
        }
    }
    if all_ok { Ok(()) } else { Err(Failure::Reported) }
}

async fn check_lane(context: &CommandContext, lane: &LaneSettings) -> Report {
    let findings = findings(context, lane).await;
    let fixes: Vec<String> = findings.iter().filter_map(|finding| finding.fix.clone()).collect();
    // A failing plan is a finding already, and `migrate` would then run nothing.
    let plan = if fixes.is_empty() {
        Vec::new()
    } else {
        context.wiring.migration(lane).plan(MigrateOptions::default()).await.unwrap_or_default()
    };
    let planned =
        |fix: &String| fix.split(";\n").all(|statement| plan.iter().any(|planned| planned == statement));
    let (mut fixes, by_hand): (Vec<String>, Vec<String>) = fixes.into_iter().partition(planned);
    fixes.dedup();
    let migrates = fixes.len();
    fixes.extend(by_hand);
    let ok = findings.iter().all(|finding| finding.level != Level::Error);
    Report { lane: lane.name.clone(), contract: lane.contract.name.clone(), ok, findings, fixes, migrates }
}

/// Lists what a lane's table and target guarantee and what they lack.
pub async fn findings(context: &CommandContext, lane: &LaneSettings) -> Vec<Finding> {
    let (mut findings, target, queue, clock) = tokio::join!(
        check_table(context, lane),
        check_target(context, lane),
        check_queue(context, lane),
        check_clock(context, lane)
    );
    findings.push(target);
    findings.extend(queue);
    findings.extend(clock);
    findings
}

async fn check_table(context: &CommandContext, lane: &LaneSettings) -> Vec<Finding> {
    let verified = match context.wiring.open(lane).await {
        Ok(table) => findings_of(lane, &*table).await,
        Err(error) => Err(error),
    };
    match verified {
        Ok(findings) => findings,
        Err(error) => {
            // A table that cannot be opened may only lack what `migrate` would add; nothing is known about
            // an unavailable server.
            let plan = match error.class {
                Class::Transient => Vec::new(),
                _ => context.wiring.migration(lane).plan(MigrateOptions::default()).await.unwrap_or_default(),
            };
            let fix = Some(plan.join(";\n")).filter(|plan| !plan.is_empty());
            vec![Finding { level: Level::Error, text: error.to_string(), fix }]
        }
    }
}

async fn findings_of(lane: &LaneSettings, table: &dyn LaneTable) -> Result<Vec<Finding>, store::Error> {
    let mut findings = table.verify().await?;
    let missing_locks = missing_locks(lane, table).await?;
    findings.extend(missing_locks.map(|text| Finding { level: Level::Error, text, fix: None }));
    findings.extend(files::findings(lane, table).await);
    Ok(findings)
}

async fn check_target(context: &CommandContext, lane: &LaneSettings) -> Finding {
    match context.probe(lane).await {
        Ok(shown) => {
            let shows = match shown {
                Probe::Target => "is reachable and accepts the credentials",
                Probe::OneOfSeveral => "has a sender that is reachable and accepts the credentials",
                Probe::Folder => "can write its folder",
                Probe::Nothing => "is not probed: rows name their targets",
            };
            Finding { level: Level::Ok, text: format!("transport `{}` {shows}", lane.transport), fix: None }
        }
        Err(error) => {
            let text = format!("transport `{}`: {error}", lane.transport);
            Finding { level: Level::Error, text, fix: None }
        }
    }
}

/// Reports a server clock that is far from this machine's; the table's findings report a server that is unavailable.
async fn check_clock(context: &CommandContext, lane: &LaneSettings) -> Option<Finding> {
    let seconds = clocks::measure_offset(&context.wiring, &lane.store).await?;
    let text = clocks::warning(&lane.store, seconds)?;
    Some(Finding { level: Level::Warning, text, fix: None })
}

async fn check_queue(context: &CommandContext, lane: &LaneSettings) -> Option<Finding> {
    let name = lane.queue.as_ref()?;
    Some(match context.probe_queue(lane).await? {
        Ok(()) => {
            let text = format!("queue `{name}` is reachable and accepts the credentials");
            Finding { level: Level::Ok, text, fix: None }
        }
        Err(error) => Finding { level: Level::Error, text: format!("queue `{name}`: {error}"), fix: None },
    })
}

fn print_text(out: &mut impl Write, lane: &LaneSettings, report: &Report) -> Result<(), Failure> {
    let stage = &lane.contract.stages[lane.stage].name;
    writeln!(
        out,
        "lane {} (contract {} {}, stage {stage})",
        lane.name, lane.contract.name, lane.contract.version
    )?;
    print_findings(out, &report.findings)?;
    let (by_migrate, by_hand) = report.fixes.split_at(report.migrates);
    let name = &lane.name;
    print_statements(
        out,
        &format!("SQL to fix lane {name} (or run: postrider migrate {name}):"),
        by_migrate,
    )?;
    print_statements(
        out,
        &format!(
            "SQL to fix lane {name} by hand (postrider migrate changes no existing column and drops nothing):"
        ),
        by_hand,
    )?;
    writeln!(out)?;
    Ok(())
}

/// Prints findings, one per line, with their level.
pub fn print_findings(out: &mut impl Write, findings: &[Finding]) -> Result<(), Failure> {
    for finding in findings {
        let level = match finding.level {
            Level::Ok => "ok     ",
            Level::Warning => "warning",
            Level::Error => "error  ",
        };
        let mut lines = finding.text.lines();
        writeln!(out, "  {level}  {}", lines.next().unwrap_or_default())?;
        for line in lines {
            writeln!(out, "           {line}")?;
        }
    }
    Ok(())
}

fn print_statements(out: &mut impl Write, title: &str, statements: &[String]) -> Result<(), Failure> {
    if statements.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n-- {title}")?;
    for statement in statements {
        writeln!(out, "{};", statement.trim_end_matches([';', '\n']))?;
    }
    Ok(())
}
