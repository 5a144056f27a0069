//! Tests that docs/reference/contract.md describes every key with a valid example, and names the built-in contracts that
//! use it.

use std::collections::{BTreeMap, BTreeSet};

use super::{KEYS, NAMED, at_the_top};
use crate::{Contract, Layer};

const PAGE: &str = include_str!("../../../../../docs/reference/contract.md");

/// A part of the page: the table of the contract that its heading names, the described keys, and the examples.
#[derive(Default)]
struct Section {
    /// `None` if the heading names no table.
    table: Option<String>,
    /// The path of each key, and the contracts that use it.
    keys: Vec<(String, String)>,
    examples: Vec<String>,
}

/// Returns the path of the table that a heading names: `sweep.*` for "### `[[sweep]]`".
fn table_of(heading: &str) -> Option<String> {
    if heading == "### Top level" {
        return Some(String::new());
    }
    let name = heading.strip_prefix("### `[")?.strip_suffix("]`")?;
    let list = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    Some(list.map_or_else(|| name.to_owned(), |name| format!("{name}.*")))
}

fn sections() -> Vec<Section> {
    let mut found = vec![Section::default()];
    let mut example: Option<String> = None;
    for line in PAGE.lines() {
        let section = found.last_mut().expect("there is a first one");
        if let Some(text) = &mut example {
            if line == "```" {
                section.examples.extend(example.take());
            } else {
                text.push_str(line);
                text.push('\n');
            }
        } else if line == "```toml" {
            example = Some(String::new());
        } else if line.starts_with('#') {
            found.push(Section { table: table_of(line), ..Section::default() });
        } else if let (Some(table), Some(row)) = (&section.table, line.strip_prefix("| `")) {
            let cells: Vec<&str> = row.split(" | ").collect();
            let key = cells[0].trim_end_matches('`').split('.');
            let star = |part: &str| part.chars().all(|c| c.is_ascii_uppercase());
            let path = key.fold(table.clone(), |path, part| {
                postrider_config::join(&path, if star(part) { "*" } else { part })
            });
            section.keys.push((path, cells[3].to_owned()));
        }
    }
    found
}

/// Adds the paths of all keys below a value. A star stands for a name that users choose.
fn collect(path: &str, value: &toml::Value, found: &mut BTreeSet<String>) {
    found.insert(path.to_owned());
    let mut each = |key: &str, value: &toml::Value| {
        let key = if NAMED.contains(&path) { "*" } else { key };
        collect(&postrider_config::join(path, key), value, found);
    };
    match value {
        toml::Value::Table(table) => table.iter().for_each(|(key, value)| each(key, value)),
        toml::Value::Array(items) => {
            let tables = items.iter().filter(|item| item.is_table());
            tables.for_each(|item| each("element", item));
        }
        _ => {}
    }
}

fn keys_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for text in texts {
        let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
        collect("", &toml::Value::Table(table), &mut found);
    }
    found
}

#[test]
fn every_key_is_described_and_no_other() {
    let mut described: BTreeSet<String> = BTreeSet::new();
    for section in sections() {
        let table = section.table.iter().map(|table| table.trim_end_matches(".*").to_owned());
        described.extend(table.filter(|table| !table.is_empty()));
        described.extend(section.keys.iter().map(|(path, _)| at_the_top(path)));
    }
    let keys: toml::Table = KEYS.parse().unwrap();
    let known: BTreeSet<String> = keys.keys().cloned().collect();
    let missing: Vec<&String> = known.difference(&described).collect();
    assert!(missing.is_empty(), "docs/reference/contract.md lacks {missing:?}");
    // Keys that users choose, such as the name of a state, are not listed in keys.toml.
    let unknown = described.difference(&known).filter(|path| !path.ends_with('*'));
    assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&String>::new(), "there are no such keys");
}

#[test]
fn every_key_has_an_example() {
    for section in sections() {
        let mut shown = keys_of(section.examples.iter().map(String::as_str));
        let of_stages: Vec<String> = shown.iter().map(|path| at_the_top(path)).collect();
        shown.extend(of_stages);
        for (path, _) in &section.keys {
            assert!(shown.contains(path), "no example in its section has {path}");
        }
    }
}

#[test]
fn every_example_is_a_valid_contract_or_layer() {
    let examples: Vec<String> = sections().into_iter().flat_map(|section| section.examples).collect();
    let base = &examples[0];
    let mut valid = 0;
    for text in &examples {
        let values: toml::Table = text.parse().unwrap();
        let parsed = if values.contains_key("contract") {
            Contract::parse("contract.md", text)
        } else if let Some(lane) = values.get("lanes").and_then(|lanes| lanes.get("events")) {
            let layer = Layer::new("contract.md", "lanes.events", lane.as_table().unwrap().clone());
            Contract::parse_with("outbox", Contract::builtin("outbox").unwrap(), &[layer])
        } else {
            Contract::parse_with("contract.md", base, &[Layer::new("contract.md", "", values)])
        };
        assert!(parsed.is_ok(), "{text}\n{}", parsed.unwrap_err());
        assert_eq!(Contract::old_spellings("contract.md", text), [], "{text}");
        valid += 1;
    }
    assert!(valid > 30, "{valid} examples were found");
}

#[test]
fn the_contracts_that_use_a_key_are_named() {
    let used: BTreeMap<&str, BTreeSet<String>> =
        Contract::builtin_names().map(|name| (name, keys_of(Contract::builtin(name)))).collect();
    for (path, named) in sections().into_iter().flat_map(|section| section.keys) {
        let users: Vec<String> = Contract::builtin_names()
            .filter(|name| used[name].contains(&path))
            .map(|name| format!("`{name}`"))
            .collect();
        let expected = match users.len() {
            0 => "–".to_owned(),
            5 => "all".to_owned(),
            _ => users.join(", "),
        };
        assert_eq!(named, expected, "who uses {path}");
    }
}
