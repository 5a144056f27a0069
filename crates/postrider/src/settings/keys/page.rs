//! Writes the tables of docs/reference/settings.md from the list of keys. The prose around them is written by hand.
//!
//! A table is between two comments of the page: `<!-- keys: server -->` names the sections of the list, and
//! `<!-- end of keys -->` ends it. A key that several of the sections have is in the table once.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Key, Section, sections};

const START: &str = "<!-- keys: ";
const START_END: &str = " -->";
const END: &str = "<!-- end of keys -->";

/// Returns the page with all its tables written again, and the sections that it has.
pub fn rewritten(page: &str) -> (String, BTreeSet<String>) {
    let all = sections();
    let (mut text, mut used) = (String::new(), BTreeSet::new());
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let _ = writeln!(text, "{line}");
        let Some(names) = line.strip_prefix(START).and_then(|rest| rest.strip_suffix(START_END)) else {
            continue;
        };
        let named: Vec<&Section> = names.split(' ').map(|name| section(&all, name)).collect();
        used.extend(named.iter().map(|section| section.table().to_owned()));
        text.push_str(&table(&named));
        assert!(lines.any(|line| line == END), "{line} has no {END}");
        let _ = writeln!(text, "{END}");
    }
    (text, used)
}

fn section<'a>(all: &'a [Section], name: &str) -> &'a Section {
    all.iter()
        .find(|section| section.table() == name)
        .unwrap_or_else(|| panic!("keys.txt has no section [{name}]"))
}

fn table(sections: &[&Section]) -> String {
    let mut text = "\n| key | type | default | example | meaning |\n|---|---|---|---|---|\n".to_owned();
    let common = common(sections);
    let mut known = BTreeSet::new();
    for section in sections {
        let path = section.path();
        let inner = path.strip_prefix(&common).unwrap_or(&path).trim_start_matches('.');
        for key in &section.keys {
            let name = if inner.is_empty() { key.name.to_owned() } else { format!("{inner}.{}", key.name) };
            if known.insert(name.clone()) {
                let Key { kind, example, meaning, .. } = key;
                let default = default(key);
                let _ = writeln!(text, "| `{name}` | {kind} | {default} | `{example}` | {} |", meaning.0);
            }
        }
    }
    text.push('\n');
    text
}

/// Returns the path that all the sections start with.
fn common(sections: &[&Section]) -> String {
    let mut paths = sections.iter().map(|section| section.path());
    let first = paths.next().unwrap_or_default();
    paths.fold(first, |common, path| {
        let same = common.split('.').zip(path.split('.')).take_while(|(a, b)| a == b);
        same.map(|(part, _)| part).collect::<Vec<_>>().join(".")
    })
}

/// Returns the default: a value as code, anything else as it is.
fn default(key: &Key) -> String {
    let text = key.default.0;
    let is_value = toml::from_str::<toml::Table>(&format!("value = {text}")).is_ok();
    if is_value { format!("`{text}`") } else { text.to_owned() }
}
