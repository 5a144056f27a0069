//! Finds the tests of the repository: functions that the test runner runs, not any function of that name.

use std::collections::BTreeSet;

use crate::tidy::Source;

/// The attributes that make a function a test.
const ATTRIBUTES: [&str; 2] = ["#[test]", "#[tokio::test"];

/// Returns the names of the macros that make tests of the functions that they list.
pub fn macros(sources: &[Source]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        for part in source.text.split("macro_rules! ").skip(1) {
            let (name, rest) = part.split_once(' ').unwrap_or_default();
            if ATTRIBUTES.iter().any(|attribute| body(rest).contains(attribute)) {
                found.insert(name.to_owned());
            }
        }
    }
    found
}

/// Returns the tests of a file, with their lines: functions with the attribute, and those that a macro lists.
pub fn of(source: &Source, macros: &BTreeSet<String>) -> Vec<(usize, String)> {
    let lines: Vec<&str> = source.text.lines().collect();
    let listed: BTreeSet<&str> = macros.iter().flat_map(|name| listed(&source.text, name)).collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function(line) else { continue };
        if listed.contains(name) || has_attribute(&lines, at) {
            found.push((at + 1, name.to_owned()));
        }
    }
    found
}

/// Returns the name of the function that the line declares.
pub fn function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_start = before.is_empty() || before.ends_with(' ');
    after.split(|c: char| !is_word(c)).next().filter(|name| is_start && !name.is_empty())
}

/// Whether the function of this line, or the lines above that belong to it, have the attribute.
fn has_attribute(lines: &[&str], at: usize) -> bool {
    let is_other = |line: &&&str| {
        let line = line.trim_end();
        !(line.is_empty() || line.ends_with(['}', ';', '{']))
    };
    let above = lines[..at].iter().rev().take_while(is_other);
    above.chain([&lines[at]]).any(|line| {
        let line = line.trim_start();
        ATTRIBUTES.iter().any(|attribute| line.starts_with(attribute))
    })
}

/// The words in the calls of a macro.
fn listed<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let call = format!("{name}! {{");
    let calls: Vec<&str> = text.split(call.as_str()).skip(1).collect();
    let round = format!("{name}!(");
    let round: Vec<&str> = text.split(round.as_str()).skip(1).collect();
    let inside = calls.into_iter().map(|rest| rest.split('}').next().unwrap_or_default());
    let inside = inside.chain(round.into_iter().map(|rest| rest.split(')').next().unwrap_or_default()));
    inside.flat_map(|inside| inside.split(|c: char| !is_word(c)))
}

/// The text up to the brace that closes the first one.
fn body(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return &text[..at],
            '}' => depth -= 1,
            _ => {}
        }
    }
    text
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
