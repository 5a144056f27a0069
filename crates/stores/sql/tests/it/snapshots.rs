//! Every statement of every contract × stage × dialect, checked in and reviewed by its diff.
//! `UPDATE_SNAPSHOTS=1 cargo test -p postrider-sql` updates them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use postrider_contract::Contract;
use postrider_seams::row::{Lease, RowId, Value};
use postrider_sql::driver::Access;
use postrider_sql::{Dialect, Script, Shape, ShapeColumn, Statements, Step, ddl, render};

use crate::pretty;

const DIALECTS: [(&str, Dialect); 3] =
    [("postgres", Dialect::Postgres), ("mysql", Dialect::Mysql), ("sqlite", Dialect::Sqlite)];

/// Longer lines are hard to review.
const WIDEST: usize = 120;

#[test]
fn every_statement_is_what_was_reviewed() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let mut different = Vec::new();
    for (name, contract) in contracts() {
        for (suffix, dialect) in DIALECTS {
            let file = folder.join(format!("{name}.{suffix}.sql"));
            let text = snapshot(&contract, dialect);
            let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > WIDEST).collect();
            assert!(
                wide.is_empty(),
                "{name}.{suffix}.sql has lines of more than {WIDEST} columns: {wide:#?}"
            );
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

/// A parameter that a dialect does not have, or that a statement's type does not give, must fail here, and never be
/// NULL. Whether a statement only reads is part of its type too.
#[test]
fn every_parameter_of_every_statement_has_a_value() {
    for (name, contract) in contracts() {
        for (_, dialect) in DIALECTS {
            let (_, mut shape) = table(&contract, dialect);
            shape.recipients = true;
            shape.marks = true;
            let present: BTreeSet<String> = shape.columns.iter().map(|column| column.name.clone()).collect();
            let contract = contract.resolve(&present).expect("the reference table has all").with_queue();
            for stage in &contract.stages {
                let program = render(&contract, stage, dialect, &shape).expect("it renders");
                for sample in program.samples(dialect, &lease(&program)) {
                    let title = &sample.title;
                    for statement in &sample.statements {
                        let wanted = placeholders(&statement.sql, dialect);
                        assert_eq!(statement.args.len(), wanted, "{name}, {title}: {}", statement.sql);
                    }
                    let reads = sample.statements.iter().all(|statement| statement.sql.starts_with("SELECT"));
                    if dialect == Dialect::Sqlite {
                        assert_eq!(sample.access == Access::Read, reads, "{name}, {title}");
                    }
                }
            }
        }
    }
}

fn lease(program: &Statements) -> Lease {
    let fence = vec![Value::Text("f".to_owned()); program.layout.fences];
    Lease { id: RowId::Int(1), fence: fence.into() }
}

/// The number of values that a statement wants: `?` once each on MySQL, the greatest number elsewhere. No literal of
/// these contracts contains a question mark or a dollar sign followed by a digit.
fn placeholders(sql: &str, dialect: Dialect) -> usize {
    let sign = match dialect {
        Dialect::Mysql => return sql.matches('?').count(),
        Dialect::Postgres => '$',
        Dialect::Sqlite => '?',
    };
    let numbers = sql.split(sign).skip(1);
    let number = |rest: &str| {
        rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or_default()
    };
    numbers.map(number).max().unwrap_or_default()
}

/// The built-in contracts, and two of users.
fn contracts() -> Vec<(&'static str, Contract)> {
    let ours = Contract::builtin_names().map(|name| (name, Contract::builtin(name).expect("one of ours")));
    let theirs = [
        ("orders", include_str!("tables/orders.toml")),
        ("due_lease", include_str!("tables/due_lease.toml")),
    ];
    let parse = |(name, text)| match Contract::parse(name, text) {
        Ok(contract) => (name, contract),
        Err(problems) => panic!("{name}: {problems}"),
    };
    ours.chain(theirs).map(parse).collect()
}

/// The table as its database describes it, and the statements that create it.
fn table(contract: &Contract, dialect: Dialect) -> (Vec<String>, Shape) {
    if let Some(mut shape) = ddl::reference_shape(contract, dialect) {
        if let Some(pool) = &contract.pool {
            // The hub creates the table of pools.
            let names = [&pool.id, &pool.concurrency, &pool.rate, &pool.paused];
            let columns = names.map(|name| ShapeColumn::new(name, "integer")).to_vec();
            shape.related.insert(pool.table.clone(), columns);
        }
        return (ddl::create(contract, dialect).expect("it renders"), shape);
    }
    if contract.name == "due_lease" {
        // The table that `create` makes of it.
        let whole = if dialect == Dialect::Sqlite { "INTEGER" } else { "BIGINT" };
        let text = if dialect == Dialect::Sqlite { "TEXT" } else { "VARCHAR(255)" };
        let columns = [
            ("id", whole),
            ("state", text),
            ("attempts", whole),
            ("run_at", whole),
            ("error", "TEXT"),
            ("created_at", whole),
            ("payload", "TEXT"),
        ];
        return (ddl::create(contract, dialect).expect("it renders"), shape_of(&columns));
    }
    let types = match dialect {
        Dialect::Postgres => {
            ["uuid", "smallint", "integer", "timestamp(3) without time zone", "varchar(40)", "jsonb"]
        }
        Dialect::Mysql => ["char(36)", "tinyint", "int", "datetime(3)", "varchar(40)", "json"],
        Dialect::Sqlite => ["TEXT", "INTEGER", "INTEGER", "DATETIME", "TEXT", "TEXT"],
    };
    let [key, state, whole, time, word, json] = types;
    let columns = [
        ("orderId", key),
        ("select", state),
        ("tries", whole),
        ("nextAttemptAt", time),
        ("lastAttemptAt", time),
        ("group", word),
        ("lastError", word),
        ("createdAt", time),
        ("rank", whole),
        ("to", word),
        ("order", word),
        ("bodyHtml", "text"),
        ("meta", json),
        ("tenant", word),
    ];
    let quote = if dialect == Dialect::Mysql { '`' } else { '"' };
    let lines: Vec<String> =
        columns.iter().map(|(name, kind)| format!("{quote}{name}{quote} {kind}")).collect();
    let create = format!(
        "CREATE TABLE {quote}Order{quote} ({}, PRIMARY KEY ({quote}orderId{quote}))",
        lines.join(", ")
    );
    let shape = shape_of(&columns);
    let mut statements = vec![create];
    statements.extend(ddl::missing(contract, &shape, &[], dialect).expect("it renders"));
    (statements, shape)
}

fn shape_of(columns: &[(&str, &str)]) -> Shape {
    let mut columns: Vec<ShapeColumn> =
        columns.iter().map(|(name, kind)| ShapeColumn::new(*name, *kind)).collect();
    // The key, which is declared first.
    columns[0].nullable = false;
    Shape { columns, ..Shape::default() }
}

fn snapshot(contract: &Contract, dialect: Dialect) -> String {
    let name = &contract.name;
    let (statements, mut shape) = table(contract, dialect);
    shape.recipients = true;
    shape.marks = true;
    let present: BTreeSet<String> = shape.columns.iter().map(|column| column.name.clone()).collect();
    let resolved = contract.resolve(&present).expect("the reference table has all");
    let mut text = format!("-- {name}: every statement. Written by the snapshot test; do not edit.\n");
    for statement in statements {
        write!(text, "\n-- create\n{};\n", pretty::lines(&statement))
            .expect("writing to a String can't fail");
    }
    if dialect == Dialect::Postgres {
        for statement in ddl::notify(contract) {
            write!(text, "\n-- create, notify\n{};\n", pretty::lines(&statement))
                .expect("writing to a String can't fail");
        }
    }
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    for stage in &resolved.stages {
        let program = render(&resolved, stage, dialect, &shape).expect("it renders");
        let layout = &program.layout;
        let layout = pretty::comment(&format!("{}: layout {layout:?}", stage.name));
        write!(text, "\n{layout}\n").expect("writing to a String can't fail");
        for (title, script) in scripts(&program, dialect) {
            // Scripts that all stages share are shown once.
            let steps = show(script, "");
            match shown.get(&title) {
                Some(known) if *known == steps => writeln!(text, "\n-- {}: {title}: as above", stage.name),
                _ => write!(text, "{}", show(script, &format!("{}: {title}", stage.name))),
            }
            .expect("writing to a String can't fail");
            shown.insert(title, steps);
        }
        text.push_str(&with_queue(&resolved, &stage.name, dialect, &shape));
    }
    text
}

/// The additional scripts and indexes of a lane with an external queue.
fn with_queue(contract: &Contract, stage: &str, dialect: Dialect, shape: &Shape) -> String {
    let contract_without_queue = contract;
    let contract = contract.clone().with_queue();
    let stage = contract.stage(stage).expect("it was there");
    let program = render(&contract, stage, dialect, shape).expect("it renders");
    if program.handoff.is_none() {
        return String::new();
    }
    let indexes = ddl::missing(&contract, shape, &[], dialect).expect("it renders");
    let mut text = String::new();
    let known = ddl::missing(contract_without_queue, shape, &[], dialect).expect("it renders");
    for statement in indexes.iter().filter(|statement| !known.contains(*statement)) {
        write!(text, "\n-- create, with a queue\n{};\n", pretty::lines(statement))
            .expect("writing to a String can't fail");
    }
    let all = scripts(&program, dialect).into_iter();
    let (of_queue, others): (Vec<_>, Vec<_>) = all.partition(|(title, _)| is_of_queue(title));
    let settles = ["settle released, each", "settle retry, each"];
    let settles = settles.iter().filter_map(|title| others.iter().find(|(other, _)| other == title));
    let scripts = of_queue.iter().chain(settles);
    for (title, script) in scripts {
        text.push_str(&show(script, &format!("{}, with a queue: {title}", stage.name)));
    }
    text
}

/// Whether a lane has the script only with an external queue.
fn is_of_queue(title: &str) -> bool {
    ["claim by key", "standing", "offer", "recall"].into_iter().any(|start| title.starts_with(start))
}

fn scripts(program: &Statements, dialect: Dialect) -> Vec<(String, &Script)> {
    let samples = program.samples(dialect, &lease(program)).into_iter();
    // They are of no interest to a reviewer: see `settle`, and the system tables of the database.
    let shown = |title: &str| title != "table of pools" && !title.starts_with("settle late");
    samples.filter(|sample| shown(&sample.title)).map(|sample| (sample.title, sample.script)).collect()
}

fn show(script: &Script, title: &str) -> String {
    let several = script.steps.len() > 1;
    let step = |(index, step): (usize, &Step)| {
        let place = if several { format!(", step {}", index + 1) } else { String::new() };
        let title = pretty::comment(&format!("{title}{place}: {:?} -> {:?}", step.params, step.yields));
        format!("\n{title}\n{};\n", pretty::lines(&step.sql))
    };
    script.steps.iter().enumerate().map(step).collect::<Vec<_>>().concat()
}
