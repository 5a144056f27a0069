//! Tests that every key of the language is in the list of keys (tests/keys/keys.toml); the SQL crate tests their
//! effects.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::{ColumnRole, Contract, Layer};

mod reference;

thread_local! {
    /// Every key that was read on this thread.
    pub(super) static KEYS_READ: RefCell<BTreeSet<String>> = RefCell::default();
}

const BASE: &str = include_str!("../../tests/keys/base.toml");
const KEYS: &str = include_str!("../../tests/keys/keys.toml");

/// Tables whose keys users choose, and lists whose elements have names.
const NAMED: [&str; 21] = [
    "table.times",
    "message",
    "stage",
    "sweep",
    "effect",
    "join",
    "count",
    "states",
    "states.*",
    "retention",
    "write",
    "write.*",
    "effect.*.values",
    "effect.*.values.*.json",
    "write.*.*.json",
    "sweep.*.write",
    "sweep.*.write.*.json",
    "retry.named",
    "stage.*.retry.named",
    "claim.where",
    "settings",
];

/// Returns the general form of a path: `stage.*.ready` for `stage.run.ready`.
fn general(path: &str) -> String {
    let mut found = String::new();
    for part in path.split('.') {
        let part = if NAMED.contains(&found.as_str()) { "*" } else { part };
        found = postrider_config::join(&found, part);
    }
    found
}

/// Returns the top-level key for a key that a stage may override.
fn at_the_top(key: &str) -> String {
    let inner = key.strip_prefix("stage.*.").unwrap_or_default();
    let shared = ["attempts", "lease", "retry"];
    let is_shared = shared.iter().any(|table| inner == *table || inner.starts_with(&format!("{table}.")));
    if is_shared { inner.to_owned() } else { key.to_owned() }
}

#[test]
fn every_key_that_is_read_is_in_the_list_of_keys() {
    let keys: toml::Table = KEYS.parse().unwrap();
    KEYS_READ.with_borrow_mut(BTreeSet::clear);
    for (key, values) in &keys {
        for value in ["one", "two"] {
            let layers: Vec<Layer> = ["with", value]
                .iter()
                .filter_map(|name| values.get(name)?.as_str())
                .map(|text| Layer::new("keys.toml", key, text.parse().unwrap()))
                .collect();
            // An invalid contract also reads its keys.
            let _ = Contract::parse_with("base.toml", BASE, &layers);
        }
    }
    let read = KEYS_READ.with_borrow(BTreeSet::clone);
    let mut read: BTreeSet<String> = read.iter().map(|path| at_the_top(&general(path))).collect();
    let roles = ColumnRole::ALL.iter().filter(|role| **role != ColumnRole::Id);
    read.extend(roles.map(|role| format!("columns.{role}")));
    let listed: BTreeSet<String> = keys.keys().cloned().collect();
    let missing: Vec<&String> = read.difference(&listed).collect();
    assert!(missing.is_empty(), "keys.toml lacks {missing:?}: add two values that differ in something");
    let unknown: Vec<&String> = listed.difference(&read).collect();
    assert!(unknown.is_empty(), "nothing reads {unknown:?}");
}
