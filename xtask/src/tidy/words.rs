//! The rules about names: whole words of the domain, and no word that says nothing.

use crate::tidy::blank::code_only;
use crate::tidy::{Breach, Source};

/// Words that are forbidden in the names of types, modules, constants, functions and files.
const EMPTY_WORDS: [&str; 6] = ["manager", "util", "utils", "helper", "helpers", "misc"];
/// Verbs that a function's name must not start with; `handle()` alone is a noun and allowed.
const EMPTY_VERBS: [&str; 2] = ["process", "handle"];

const REMEDY: &str = "name what it does, with the words of the domain (claim, compose, deliver, decide, settle, extend, reclaim, …)";

/// Checks the names that one file defines.
pub fn check(source: &Source) -> Vec<Breach> {
    if !source.is_rust() {
        return Vec::new();
    }
    let mut breaches = Vec::new();
    let stem = source.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
    if let Some(word) = empty_word(stem) {
        breaches.push(Breach::new(&source.path, 1, format!("`{word}` in a file's name"), REMEDY));
    }
    for (number, line) in code_only(&source.text).lines().enumerate() {
        for (keyword, name) in definitions(line) {
            let empty_verb = || (keyword == "fn" && name != "handle").then(|| empty_verb(name)).flatten();
            if let Some(word) = empty_word(name).or_else(empty_verb) {
                let what = format!("`{word}` in the name `{name}`");
                breaches.push(Breach::new(&source.path, number + 1, what, REMEDY));
            }
        }
    }
    breaches
}

/// The names that a line defines, each with its keyword.
fn definitions(line: &str) -> Vec<(&str, &str)> {
    const KEYWORDS: [&str; 8] = ["fn", "struct", "enum", "trait", "mod", "type", "const", "static"];
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
