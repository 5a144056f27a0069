//! One test per contract × stage × store × law: `postgres::mail_outbox::dispatch::exclusive_claim`.
//!
//! The servers' addresses come from POSTRIDER_TEST_POSTGRES and POSTRIDER_TEST_MYSQL; `cargo xtask test` sets them.

mod test_table;

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::Arc;

use futures::FutureExt as _;
use libtest_mimic::{Arguments, Failed, Trial as Test};
use postrider_conformance::{LAWS, Law, Subject, TestCase, TestedStore, docs_page, sim};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut tests = vec![
        Test::test("table::docs_are_up_to_date", docs_are_up_to_date),
        Test::test("sim::a_seed_replays", a_seed_replays),
    ];
    tests.extend(Subject::all().into_iter().chain(Subject::varied()).map(simulate));
    let subjects = || Subject::all().into_iter().chain(Subject::varied()).chain([Subject::deleting()]);
    for kind in TestedStore::ALL {
        for subject in subjects().filter_map(|subject| subject.on(kind)) {
            let subject = Arc::new(subject);
            let concerned = |law: &&Law| subject.on_error.is_none() || law.is_about_groups();
            let holding =
                LAWS.iter().filter(concerned).filter(|law| (law.not_applicable)(&subject, kind).is_none());
            tests.extend(holding.map(|law| test(kind, Arc::clone(&subject), law)));
        }
    }
    libtest_mimic::run(&arguments, tests).exit_code()
}

fn test(kind: TestedStore, subject: Arc<Subject>, law: &'static Law) -> Test {
    let name = format!("{kind}::{}::{}", subject.name(), law.name);
    Test::test(name, move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.block_on(async {
            let table = test_table::make(kind, &subject).await?;
            let case = TestCase { subject: (*subject).clone(), table };
            let held = AssertUnwindSafe((law.run)(&case)).catch_unwind().await;
            case.table.close().await;
            held.unwrap_or_else(|broken| std::panic::resume_unwind(broken));
            Ok(())
        })
    })
}

/// Runs POSTRIDER_SIM_SEEDS seeds, or the single seed in POSTRIDER_SIM_SEED.
fn simulate(subject: Subject) -> Test {
    Test::test(format!("sim::{}", subject.name()), move || {
        let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let seeds = match number("POSTRIDER_SIM_SEED") {
            Some(seed) => seed..seed + 1,
            None => 0..number("POSTRIDER_SIM_SEEDS").unwrap_or(16),
        };
        let (mut crashes, mut duplicates) = (0, 0);
        for seed in seeds.clone() {
            let report = sim::run(&subject, seed)?;
            crashes += report.crashes;
            duplicates += report.duplicates;
        }
        if seeds.end - seeds.start > 10 && (crashes == 0 || duplicates == 0) {
            return Err("no faults came of so many seeds: the simulator is too kind to prove anything".into());
        }
        Ok(())
    })
}

/// Checks that a seed gives the same events in every run.
fn a_seed_replays() -> Result<(), Failed> {
    let subject = Subject::all().remove(0);
    for seed in 1..=6 {
        let (first, second) = (sim::run(&subject, seed)?, sim::run(&subject, seed)?);
        if first != second {
            let place = first.events.iter().zip(&second.events).take_while(|(a, b)| a == b).count();
            return Err(
                format!("seed {seed}: two runs part at event {place} of {}", first.events.len()).into()
            );
        }
    }
    Ok(())
}

fn docs_are_up_to_date() -> Result<(), Failed> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/conformance.md");
    let page = docs_page::page();
    if std::env::var_os("POSTRIDER_BLESS").is_some() {
        std::fs::write(file, &page)?;
    }
    let found = std::fs::read_to_string(file).unwrap_or_default();
    if found == page {
        return Ok(());
    }
    Err("docs/conformance.md is out of date: POSTRIDER_BLESS=1 cargo test -p postrider-conformance table"
        .into())
}
