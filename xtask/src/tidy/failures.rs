//! Checks that the files and tests that `docs/failures.md` names exist.

use std::collections::BTreeSet;
use std::path::Path;

use crate::tidy::test_names;
use crate::tidy::{Source, Violation};

const PAGE: &str = "docs/failures.md";

/// The folders of names that are neither a crate in `crates` nor one of its families.
const FOLDERS: [(&str, &str); 2] =
    [("crash", "crates/postrider/tests/it/crash"), ("transport", "crates/transports")];

/// The families of crates.
const FAMILIES: [&str; 3] = ["crates", "crates/stores", "crates/transports"];

/// Checks every file and test in backticks.
pub fn check(sources: &[Source]) -> Vec<Violation> {
    let Some(page) = sources.iter().find(|source| source.path == PAGE) else { return Vec::new() };
    let known = Known::new(sources);
    let mut violations = Vec::new();
    for (at, line) in page.text.lines().enumerate().filter(|(_, line)| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        let (tests, others) = cells.split_last().expect("split returns at least one part");
        let mut missing: Vec<&str> = others.iter().flat_map(|cell| known.missing_paths(cell)).collect();
        missing.extend(tests.split(';').flat_map(|part| known.missing_tests(part)));
        violations.extend(missing.into_iter().map(|name| {
            Violation::new(
                PAGE,
                at + 1,
                format!("there is no `{name}`"),
                "name the file or the test that proves it",
            )
        }));
    }
    violations
}

/// The files and functions of the repository.
struct Known<'a> {
    paths: BTreeSet<&'a str>,
    /// Path and name of every test, and of every law of the conformance suite.
    tests: Vec<(&'a str, String)>,
    folders: Vec<(&'a str, String)>,
}

impl<'a> Known<'a> {
    fn new(sources: &'a [Source]) -> Self {
        let macros = test_names::macros(sources);
        let mut tests = Vec::new();
        let mut folders: Vec<(&str, String)> =
            FOLDERS.iter().map(|(name, folder)| (*name, (*folder).to_owned())).collect();
        for source in sources.iter().filter(|source| source.is_rust()) {
            let path = source.path.as_str();
            if path.starts_with("crates/conformance/src/") {
                let laws = source.text.lines().filter_map(test_names::function);
                tests.extend(laws.map(|name| (path, name.to_owned())));
            }
            tests.extend(test_names::of(source, &macros).into_iter().map(|(_, name)| (path, name)));
        }
        for family in FAMILIES {
            let inside =
                sources.iter().filter_map(|source| source.path.strip_prefix(family)?.strip_prefix('/'));
            let names: BTreeSet<&str> = inside.filter_map(|path| Some(path.split_once('/')?.0)).collect();
            folders.extend(names.into_iter().map(|name| (name, format!("{family}/{name}"))));
        }
        Self { paths: sources.iter().map(|source| source.path.as_str()).collect(), tests, folders }
    }

    /// Files in the text about what limits the damage, from the folder `crates` on.
    fn missing_paths<'t>(&self, cell: &'t str) -> Vec<&'t str> {
        let quoted = cell.split('`').skip(1).step_by(2);
        quoted
            .filter(|name| match name.split_once("::") {
                // A function of a module; types begin with a capital letter.
                Some((module, _)) => {
                    let file = format!("/{module}.rs");
                    name.starts_with(|c: char| c.is_ascii_lowercase())
                        && !self.paths.iter().any(|path| path.ends_with(&file))
                }
                None => is_rust(name) && !self.paths.contains(format!("crates/{name}").as_str()),
            })
            .collect()
    }

    /// Files and tests in a part of the last cell: `engine `a.rs`, `b.rs` `name_…``. The words before them say where.
    fn missing_tests<'t>(&self, part: &'t str) -> Vec<&'t str> {
        let mut missing = Vec::new();
        let mut places: Vec<&str> = Vec::new();
        for (index, text) in part.split('`').enumerate() {
            if index % 2 == 0 {
                let named: Vec<&str> = self.named(text);
                if !named.is_empty() {
                    places = named;
                }
            } else if is_rust(text) {
                let is_in = |place: &str| self.is_file(place, text);
                if places.is_empty() || !places.iter().all(|place| is_in(place)) {
                    missing.push(text);
                }
            } else if is_test_name(text) {
                let is_in = |place: &str| {
                    self.tests.iter().any(|(path, name)| path.starts_with(place) && fits(text, name))
                };
                if !(places.iter().all(|place| is_in(place)) && is_in("")) {
                    missing.push(text);
                }
            }
        }
        missing
    }

    /// The folders that the words of a text name.
    fn named(&self, text: &str) -> Vec<&str> {
        let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let named = self.folders.iter().filter(|(name, _)| words.contains(name));
        named.map(|(_, folder)| folder.as_str()).collect()
    }

    fn is_file(&self, place: &str, name: &str) -> bool {
        let paths = [format!("{place}/{name}"), format!("{place}/tests/it/{name}")];
        paths.iter().any(|path| self.paths.contains(path.as_str()))
    }
}

fn is_rust(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "rs")
}

/// Whether the text is the name of a test, or part of one: `lost_…`.
fn is_test_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '…';
    text.contains('_') && text.chars().all(is_part)
}

/// Whether a name fits a pattern in which `…` stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    let mut rest = name;
    let parts: Vec<&str> = pattern.split('…').collect();
    for (index, part) in parts.iter().enumerate() {
        let Some(at) = rest.find(part) else { return false };
        if index == 0 && at > 0 {
            return false;
        }
        rest = &rest[at + part.len()..];
    }
    pattern.ends_with('…') || rest.is_empty()
}
