//! Generates the table in the documentation: which law holds for which contract on which store, from the list of laws.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::law::{LAWS, Law};
use crate::subject::Subject;
use crate::test_table::TestedStore;

const HEAD: &str = "# What holds where

Every law below is a test, run for every stage of every contract on every store; `cargo xtask test` runs them all. This
page is generated from the list of laws: a test fails when it is out of date, and `POSTRIDER_BLESS=1 cargo test -p
postrider-conformance table` writes it again.

The test reads rows back with its own queries and does not trust the answers of the store. No law waits for time to
pass: rows are aged instead. Stores: memory, PostgreSQL, MariaDB, SQLite, and DynamoDB
for the contract that has a layout there.

The laws of groups also hold for lanes that override what a failure does to later rows: `outbox` with
`group.on_error` set to `block` and to `next`, `dispatch_jobs` with `wait`. All laws also hold for an `outbox` that
deletes delivered rows (`delivered = \"delete\"`), on the SQL stores and in memory.

`all`: holds on all of them. `SQL`: on the three SQL stores and in memory. Names: holds only on these. `—`: does not
apply to this contract (the reasons are below).

The *rules* of a law are those of [the contracts](rules.md) that it proves on these stores.
";

/// Returns the whole page as Markdown.
pub fn page() -> String {
    let subjects = Subject::all();
    let mut page = HEAD.to_owned();
    page.push_str("\n## Laws\n\n| law | what holds | rules |\n|---|---|---|\n");
    for law in LAWS {
        writeln!(page, "| `{}` | {} | {} |", law.name, law.sentence, law.rules.join(", "))
            .expect("writing to a String never fails");
    }
    page.push_str("\n## Where they hold\n\n| law |");
    for subject in &subjects {
        write!(page, " {}<br>{} |", subject.contract.name, subject.stage().name)
            .expect("writing to a String never fails");
    }
    page.push_str("\n|---|");
    page.push_str(&"---|".repeat(subjects.len()));
    page.push('\n');
    for law in LAWS {
        let cells: Vec<String> = subjects.iter().map(|subject| cell(law, subject)).collect();
        writeln!(page, "| `{}` | {} |", law.name, cells.join(" | "))
            .expect("writing to a String never fails");
    }
    page.push_str("\n## Where they do not apply, and why\n\n");
    for (law, reasons) in reasons(&subjects) {
        writeln!(page, "- `{law}`: {}.", reasons.join("; ")).expect("writing to a String never fails");
    }
    page
}

fn cell(law: &Law, subject: &Subject) -> String {
    let runs: Vec<TestedStore> =
        TestedStore::ALL.into_iter().filter(|kind| subject.clone().on(*kind).is_some()).collect();
    let holds = runs.iter().filter(|kind| reason_not_applicable(law, subject, **kind).is_none());
    let names: Vec<&str> = holds.map(|kind| kind.name()).collect();
    let sql = TestedStore::ALL.map(TestedStore::name);
    match names.as_slice() {
        [] => "—".to_owned(),
        names if names.len() == runs.len() => "all".to_owned(),
        names if names == &sql[..4] => "SQL".to_owned(),
        names => names.join(", "),
    }
}

/// Returns why the law does not apply to this stage on this store.
fn reason_not_applicable(law: &Law, subject: &Subject, kind: TestedStore) -> Option<&'static str> {
    subject.clone().on(kind).and_then(|subject| (law.not_applicable)(&subject, kind))
}

/// Returns the reasons why each law does not apply, each once.
fn reasons(subjects: &[Subject]) -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut found: BTreeMap<&'static str, Vec<&'static str>> = BTreeMap::new();
    for law in LAWS {
        for subject in subjects {
            for reason in
                TestedStore::ALL.into_iter().filter_map(|kind| reason_not_applicable(law, subject, kind))
            {
                let known = found.entry(law.name).or_default();
                if !known.contains(&reason) {
                    known.push(reason);
                }
            }
        }
    }
    found
}
