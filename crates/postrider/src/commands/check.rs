//! `check`: shows what each lane's table guarantees, what it lacks, and the SQL to fix it. Changes nothing.

use std::io::Write;

use futures::future::join_all;
use postrider_seams::inspect::{Finding, Level};
use postrider_seams::migrate::Options;
use postrider_seams::store::Class;
use serde::Serialize;

use super::Desk;
use crate::cli::CheckArgs;
use crate::clocks;
use crate::emails::files;
use crate::failure::Failure;
use crate::settings::LaneSettings;

/// The result for one lane.
#[derive(Serialize)]
struct Report {
    lane: String,
    contract: String,
    ok: bool,
    findings: Vec<Finding>,
    /// DDL statements to run, in order.
    mend: Vec<String>,
    /// The number of statements, from the first, that `migrate` would run.
    #[serde(skip)]
    migrates: usize,
}

/// Checks the chosen lanes; an error if any of them has a finding that prevents deliveries.
pub async fn run(desk: &Desk, args: &CheckArgs) -> Result<(), Failure> {
    let lanes = desk.lanes(&args.lanes)?;
    // Check all lanes concurrently: each unavailable server waits for its own timeout.
    let reports = join_all(lanes.iter().map(|lane| examine(desk, lane))).await;
    let mut out = std::io::stdout().lock();
    let mut all_ok = true;
    for (lane, report) in lanes.into_iter().zip(reports) {
        all_ok &= report.ok;
        if args.json {
            writeln!(out, "{}", serde_json::to_string(&report).unwrap_or_default())?;
        } else {
            people(&mut out, lane, &report)?;
        }
    }
    if all_ok { Ok(()) } else { Err(Failure::Reported) }
}

async fn examine(desk: &Desk, lane: &LaneSettings) -> Report {
    let findings = findings(desk, lane).await;
    let mends: Vec<String> = findings.iter().filter_map(|finding| finding.mend.clone()).collect();
    // A failing plan is a finding already, and `migrate` would then run nothing.
    let plan = if mends.is_empty() {
        Vec::new()
    } else {
        desk.wiring.migration(lane).plan(Options::default()).await.unwrap_or_default()
    };
    let planned =
        |mend: &String| mend.split(";\n").all(|statement| plan.iter().any(|planned| planned == statement));
    let (mut mend, by_hand): (Vec<String>, Vec<String>) = mends.into_iter().partition(planned);
    mend.dedup();
    let migrates = mend.len();
    mend.extend(by_hand);
    let ok = findings.iter().all(|finding| finding.level != Level::Error);
    Report { lane: lane.name.clone(), contract: lane.contract.name.clone(), ok, findings, mend, migrates }
}

/// Lists what a lane's table and target guarantee and what they lack.
pub async fn findings(desk: &Desk, lane: &LaneSettings) -> Vec<Finding> {
    let (mut findings, target, queue, clock) = tokio::join!(
        examine_table(desk, lane),
        examine_target(desk, lane),
        examine_queue(desk, lane),
        examine_clock(desk, lane)
    );
    findings.push(target);
    findings.extend(queue);
    findings.extend(clock);
    findings
}

async fn examine_table(desk: &Desk, lane: &LaneSettings) -> Vec<Finding> {
    let verified = match desk.wiring.open(lane).await {
        Ok(table) => match table.verify().await {
            Ok(findings) => Ok(findings.into_iter().chain(files::findings(lane, &*table).await).collect()),
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    match verified {
        Ok(findings) => findings,
        Err(error) => {
            // A table that cannot be opened may only lack what `migrate` would add; nothing is known about
            // an unavailable server.
            let plan = match error.class {
                Class::Transient => Vec::new(),
                _ => desk.wiring.migration(lane).plan(Options::default()).await.unwrap_or_default(),
            };
            let mend = Some(plan.join(";\n")).filter(|plan| !plan.is_empty());
            vec![Finding { level: Level::Error, text: error.to_string(), mend }]
        }
    }
}

async fn examine_target(desk: &Desk, lane: &LaneSettings) -> Finding {
    match desk.probe(lane).await {
        Ok(()) => {
            let text = format!("transport `{}` is reachable and accepts the credentials", lane.transport);
            Finding { level: Level::Ok, text, mend: None }
        }
        Err(error) => {
            let text = format!("transport `{}`: {error}", lane.transport);
            Finding { level: Level::Error, text, mend: None }
        }
    }
}

/// Reports a server clock that is far from this machine's; the table's findings report a server that is unavailable.
async fn examine_clock(desk: &Desk, lane: &LaneSettings) -> Option<Finding> {
    let seconds = clocks::measured(&desk.wiring, &lane.store).await?;
    let text = clocks::warning(&lane.store, seconds)?;
    Some(Finding { level: Level::Warning, text, mend: None })
}

async fn examine_queue(desk: &Desk, lane: &LaneSettings) -> Option<Finding> {
    let name = lane.queue.as_ref()?;
    Some(match desk.probe_queue(lane).await? {
        Ok(()) => {
            let text = format!("queue `{name}` is reachable and accepts the credentials");
            Finding { level: Level::Ok, text, mend: None }
        }
        Err(error) => Finding { level: Level::Error, text: format!("queue `{name}`: {error}"), mend: None },
    })
}

fn people(out: &mut impl Write, lane: &LaneSettings, report: &Report) -> Result<(), Failure> {
    let stage = &lane.contract.stages[lane.stage].name;
    writeln!(
        out,
        "lane {} (contract {} {}, stage {stage})",
        lane.name, lane.contract.name, lane.contract.version
    )?;
    for finding in &report.findings {
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
    let (by_migrate, by_hand) = report.mend.split_at(report.migrates);
    let name = &lane.name;
    statements(out, &format!("SQL to fix lane {name} (or run: postrider migrate {name}):"), by_migrate)?;
    statements(
        out,
        &format!("SQL to fix lane {name} by hand (postrider migrate changes no existing column):"),
        by_hand,
    )?;
    writeln!(out)?;
    Ok(())
}

fn statements(out: &mut impl Write, title: &str, statements: &[String]) -> Result<(), Failure> {
    if statements.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n-- {title}")?;
    for statement in statements {
        writeln!(out, "{};", statement.trim_end_matches([';', '\n']))?;
    }
    Ok(())
}
