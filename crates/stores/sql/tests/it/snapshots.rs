//! Every statement of every contract × stage × dialect, checked in and reviewed by its diff.
//! `UPDATE_SNAPSHOTS=1 cargo test -p postrider-sql` writes them anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use postrider_contract::Contract;
use postrider_sql::{Dialect, Program, Script, Step, ddl, render};

const DIALECTS: [(&str, Dialect); 3] =
    [("postgres", Dialect::Postgres), ("mysql", Dialect::Mysql), ("sqlite", Dialect::Sqlite)];

#[test]
fn every_statement_is_what_was_reviewed() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("snapshots");
    let update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let mut different = Vec::new();
    for name in Contract::builtin_names() {
        for (suffix, dialect) in DIALECTS {
            let file = folder.join(format!("{name}.{suffix}.sql"));
            let text = snapshot(name, dialect);
            if update {
                std::fs::create_dir_all(&folder).expect("the crate's folder can be written");
                std::fs::write(&file, &text).expect("the crate's folder can be written");
            } else if std::fs::read_to_string(&file).unwrap_or_default() != text {
                different.push(format!("{name}.{suffix}.sql"));
            }
        }
    }
    assert!(different.is_empty(), "{different:?} differ; review with UPDATE_SNAPSHOTS=1 and git diff");
}

fn snapshot(name: &str, dialect: Dialect) -> String {
    let contract = Contract::builtin(name).expect("one of ours");
    let contract = Contract::parse(name, contract).expect("our own contracts parse");
    let shape = ddl::reference_shape(&contract, dialect).expect("one of ours");
    let present: BTreeSet<String> = shape.columns.iter().map(|column| column.name.clone()).collect();
    let resolved = contract.resolve(&present).expect("the reference table has all");
    let mut text = format!("-- {name}: every statement. Written by the snapshot test; do not edit.\n");
    for statement in ddl::create(&contract, dialect).expect("it renders") {
        write!(text, "\n-- create\n{statement};\n").expect("writing to a String can't fail");
    }
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    for stage in &resolved.stages {
        let program = render(&resolved, stage, dialect, &shape).expect("it renders");
        let layout = &program.layout;
        write!(text, "\n-- {}: layout {layout:?}\n", stage.name).expect("writing to a String can't fail");
        for (title, script) in scripts(&program) {
            // What all stages share is shown once.
            let steps = show(script);
            match shown.get(&title) {
                Some(known) if *known == steps => writeln!(text, "\n-- {}: {title}: as above", stage.name),
                _ => write!(text, "{}", steps.replace("{title}", &format!("{}: {title}", stage.name))),
            }
            .expect("writing to a String can't fail");
            shown.insert(title, steps);
        }
    }
    text
}

fn scripts(program: &Program) -> Vec<(String, &Script)> {
    let mut all: Vec<(String, &Script)> = Vec::new();
    for (index, script) in program.claim.iter().enumerate() {
        all.push((format!("claim {}", index + 1), script));
    }
    all.push(("load".to_owned(), &program.load));
    all.extend(program.join.as_ref().map(|script| ("join".to_owned(), script)));
    for (transition, settle) in &program.settle {
        all.extend(settle.uniform.as_ref().map(|script| (format!("settle {transition}, uniform"), script)));
        all.push((format!("settle {transition}, each"), &settle.each));
    }
    all.extend(program.extend.as_ref().map(|script| ("extend".to_owned(), script)));
    all.extend(program.reclaim_dead.as_ref().map(|script| ("reclaim, dead".to_owned(), script)));
    all.extend(program.reclaim.as_ref().map(|script| ("reclaim".to_owned(), script)));
    all.extend(program.spent.as_ref().map(|script| ("spent".to_owned(), script)));
    for (index, script) in program.sweeps.iter().enumerate() {
        all.push((format!("sweep {}", index + 1), script));
    }
    for (index, script) in program.purge.iter().enumerate() {
        all.push((format!("purge {}", index + 1), script));
    }
    all.push(("next due".to_owned(), &program.next_due));
    let inspect = &program.inspect;
    all.push(("lag".to_owned(), &inspect.lag));
    all.push(("show".to_owned(), &inspect.show));
    for (title, list) in [
        ("census", &inspect.census),
        ("requeue ids", &inspect.requeue_ids),
        ("requeue state", &inspect.requeue_state),
        ("cancel ids", &inspect.cancel_ids),
        ("cancel state", &inspect.cancel_state),
        ("complete ids", &inspect.complete_ids),
    ] {
        all.extend(list.iter().map(|(state, script)| (format!("{title} {state}"), script)));
    }
    for (title, pages) in [("browse", &inspect.browse_first), ("browse after", &inspect.browse_after)] {
        let name = |state: &Option<String>| state.clone().unwrap_or_else(|| "all".to_owned());
        all.extend(pages.iter().map(|(state, script)| (format!("{title} {}", name(state)), script)));
    }
    all
}

fn show(script: &Script) -> String {
    let several = script.steps.len() > 1;
    let step = |(index, step): (usize, &Step)| {
        let place = if several { format!(", step {}", index + 1) } else { String::new() };
        format!("\n-- {{title}}{place}: {:?} -> {:?}\n{};\n", step.binds, step.yields, step.sql)
    };
    script.steps.iter().enumerate().map(step).collect::<Vec<_>>().concat()
}
