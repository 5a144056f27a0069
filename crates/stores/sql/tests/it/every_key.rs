//! Every key of the contract language has a visible effect: on the SQL of some dialect, the DDL, the result of
//! decide(), the environment that is read, or the code that the list names. A test of the contract crate checks that
//! the list has every key.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use postrider_contract::{AttemptResult, Contract, Counters, Layer, ResultKind};
use postrider_sql::{Dialect, Shape, ShapeColumn, ddl, render};

const BASE: &str = include_str!("../../../../contract/tests/keys/base.toml");
const KEYS: &str = include_str!("../../../../contract/tests/keys/keys.toml");

const DIALECTS: [Dialect; 3] = [Dialect::Postgres, Dialect::Mysql, Dialect::Sqlite];

#[test]
fn every_key_of_the_language_changes_something() {
    let keys: toml::Table = KEYS.parse().expect("keys.toml is TOML");
    let (mut idle, mut wrong) = (Vec::new(), Vec::new());
    for (key, values) in &keys {
        let layer = |name: &str| {
            let text = values.get(name).and_then(toml::Value::as_str).unwrap_or_default();
            Layer::new(name, key, text.parse().unwrap_or_else(|error| panic!("{key}, {name}: {error}")))
        };
        let base = match values.get("without").and_then(toml::Value::as_str) {
            Some(line) => BASE.replace(line, ""),
            None => BASE.to_owned(),
        };
        let [one, two] = ["one", "two"]
            .map(|name| Contract::parse_with("base.toml", &base, &[layer("with"), layer(name)]));
        let (one, two) = match (one, two) {
            (Ok(one), Ok(two)) => (one, two),
            (Err(problems), _) | (_, Err(problems)) => {
                wrong.push(format!("{key}: {problems}"));
                continue;
            }
        };
        let differs = match values.get("read") {
            Some(read) => {
                assert!(one != two, "{key}: the two values mean the same");
                reads(read)
            }
            None => seen(&one) != seen(&two),
        };
        if !differs {
            idle.push(key);
        }
    }
    assert!(wrong.is_empty(), "these values are refused: {wrong:#?}");
    assert!(idle.is_empty(), "these keys change nothing: {idle:?}");
}

/// Whether the file contains the code that reads the key.
fn reads(read: &toml::Value) -> bool {
    let part = |index: usize| read.get(index).and_then(toml::Value::as_str).expect("a file, and its code");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let text = std::fs::read_to_string(root.join(part(0))).expect("the file is there");
    text.contains(part(1))
}

/// Everything that is rendered from a contract.
fn seen(contract: &Contract) -> String {
    let mut seen = String::new();
    for dialect in DIALECTS {
        let shape = shape();
        writeln!(seen, "{:?}", ddl::create(contract, dialect)).expect("writing to a String can't fail");
        writeln!(seen, "{:?}", ddl::missing(contract, &shape, &[], dialect)).expect("the same");
        let present: BTreeSet<String> = shape.columns.iter().map(|column| column.name.clone()).collect();
        let Ok(resolved) = contract.resolve(&present) else { panic!("{:?}", contract.resolve(&present)) };
        for resolved in [resolved.clone().with_queue(), resolved] {
            for stage in &resolved.stages {
                let program = render(&resolved, stage, dialect, &shape);
                writeln!(seen, "{} {} {program:?}", stage.name, stage.composer).expect("the same");
            }
        }
    }
    seen.push_str(&decided(contract));
    let (outside, problems) = contract.external_settings(|_| Some("7".to_owned()));
    write!(seen, "{outside:?} {problems:?}").expect("writing to a String can't fail");
    seen
}

fn decided(contract: &Contract) -> String {
    let mut seen = String::new();
    let gots = [
        ResultKind::Delivered,
        ResultKind::Retryable,
        ResultKind::Rejected,
        ResultKind::Skipped,
        ResultKind::Deferred,
        ResultKind::Refused,
        ResultKind::Uncertain,
    ];
    for stage in &contract.stages {
        for (attempts, kind) in (0..5).flat_map(|attempts| gots.map(|kind| (attempts, kind))) {
            for schedule in [None, Some("slow".to_owned())] {
                for after in [None, Some(Duration::from_secs(1))] {
                    let row = Counters { attempts, max_attempts: None, schedule: schedule.clone() };
                    let result = AttemptResult { kind, after, partly_accepted: false };
                    writeln!(seen, "{:?}", stage.decide(&row, result, 1.0)).expect("no failure");
                }
            }
        }
    }
    seen
}

/// Every column that base.toml and keys.toml name, except `absent`.
fn shape() -> Shape {
    let numbers = [
        "id",
        "number",
        "tries",
        "failures",
        "max_tries",
        "run_at",
        "next_at",
        "taken_at",
        "locked_at",
        "locked_until",
        "tried_at",
        "revision",
        "made_at",
        "born_at",
        "changed_at",
        "ended_at",
        "took",
        "rank",
        "weight",
        "line",
    ];
    let texts = [
        "state",
        "phase",
        "worker",
        "error",
        "problem",
        "receipt",
        "payload",
        "body",
        "schedule",
        "client",
        "tenant",
        "family",
        "mode",
        "rule",
        "note",
        "pool",
        "crew",
        "queued_at",
    ];
    let columns = numbers.map(|name| ShapeColumn::new(name, "bigint"));
    let columns = columns.into_iter().chain(texts.map(|name| ShapeColumn::new(name, "varchar(100)")));
    let other = |names: &[&str]| names.iter().map(|name| ShapeColumn::new(*name, "varchar(100)")).collect();
    let related: BTreeMap<String, Vec<ShapeColumn>> = [
        ("pools", &["id", "name", "concurrency", "at_once", "rate", "per_minute", "paused", "stopped"][..]),
        ("crews", &["id", "concurrency", "rate", "paused"]),
        ("log", &["job", "state", "why", "at", "id", "line"]),
        ("notes", &["job", "state", "why", "at", "id"]),
        ("clients", &["id", "number", "name", "address"]),
        ("customers", &["id", "name"]),
    ]
    .map(|(name, columns)| (name.to_owned(), other(columns)))
    .into();
    Shape { columns: columns.collect(), related, ..Shape::default() }
}
