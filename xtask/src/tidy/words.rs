//! The rules about names: whole words of the domain, and no word that says nothing.

use crate::tidy::blank::code_only;
use crate::tidy::{Source, Violation};

/// Words that are forbidden in the names of types, modules, constants, functions and files.
const EMPTY_WORDS: [&str; 6] = ["manager", "util", "utils", "helper", "helpers", "misc"];
/// Words that no name has, whether of a variable or of an item: they say nothing about a value.
const ARCHAIC_WORDS: [&str; 7] = ["told", "mend", "mends", "mended", "whoever", "besides", "draught"];
/// Verbs that a function's name must not start with; `handle()` alone is a noun and allowed.
const EMPTY_VERBS: [&str; 2] = ["process", "handle"];

const PLAIN_REMEDY: &str = "name the value: the error, the answer, the reason, the fix, the reported rows";
const REMEDY: &str = "name what it does, with the words of the domain (claim, compose, deliver, decide, settle, extend, reclaim, …)";

/// Checks the names that one file defines.
pub fn check(source: &Source) -> Vec<Violation> {
    if !source.is_rust() {
        return Vec::new();
    }
    let mut violations = Vec::new();
    let stem = source.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
    if let Some(word) = empty_word(stem) {
        violations.push(Violation::new(&source.path, 1, format!("`{word}` in a file's name"), REMEDY));
    }
    for (number, line) in code_only(&source.text).lines().enumerate() {
        for (keyword, name) in definitions(line) {
            let archaic = words(name).into_iter().find(|word| ARCHAIC_WORDS.contains(&word.as_str()));
            if let Some(word) = archaic {
                let what = format!("`{word}` in the name `{name}`");
                violations.push(Violation::new(&source.path, number + 1, what, PLAIN_REMEDY));
            }
            if ["let", "mut"].contains(&keyword) {
                continue;
            }
            let empty_verb = || (keyword == "fn" && name != "handle").then(|| empty_verb(name)).flatten();
            if let Some(word) = empty_word(name).or_else(empty_verb) {
                let what = format!("`{word}` in the name `{name}`");
                violations.push(Violation::new(&source.path, number + 1, what, REMEDY));
            }
        }
    }
    violations
}

/// The names that a line defines, each with its keyword.
fn definitions(line: &str) -> Vec<(&str, &str)> {
    const KEYWORDS: [&str; 10] =
        ["fn", "struct", "enum", "trait", "mod", "type", "const", "static", "let", "mut"];
    let tokens: Vec<&str> =
        line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|token| !token.is_empty()).collect();
    tokens.windows(2).filter(|pair| KEYWORDS.contains(&pair[0])).map(|pair| (pair[0], pair[1])).collect()
}

fn empty_word(name: &str) -> Option<String> {
    words(name).into_iter().find(|word| EMPTY_WORDS.contains(&word.as_str()))
}

fn empty_verb(name: &str) -> Option<String> {
    words(name).into_iter().next().filter(|verb| EMPTY_VERBS.contains(&verb.as_str()))
}

/// Splits a name into words: `LaneManager`, `lane_manager` and `LANE_MANAGER` are all lane, manager.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && after_lower) {
            words.push(String::new());
        }
        if c != '_' {
            words.last_mut().expect("never empty").extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}
