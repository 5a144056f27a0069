//! `cargo xtask tidy`: the rules of this repository that no compiler checks.
//!
//! Owns: which files the rules check, and the report: one line per violation with its remedy, all violations in one run.
//! Each rule is a pure function of files or of the crate graph, so that it can be tested on a few lines.

mod blank;
mod failures;
mod files;
mod graph;
mod licences;
mod links;
mod pages;
mod prose;
mod rule_stores;
mod rules;
mod script;
mod test_names;
mod tree;
mod words;

use std::fmt;
use std::path::Path;

use crate::run::{self, Failure, Result};

/// One violation of one rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    path: String,
    line: usize,
    what: String,
    remedy: &'static str,
}

impl Violation {
    fn new(path: &str, line: usize, what: impl Into<String>, remedy: &'static str) -> Self {
        Self { path: path.to_owned(), line, what: what.into(), remedy }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}: {}", self.path, self.line, self.what, self.remedy)
    }
}

/// One text file of the repository.
#[derive(Debug)]
pub struct Source {
    path: String,
    text: String,
}

impl Source {
    fn is_rust(&self) -> bool {
        self.has_ending("rs")
    }

    fn has_ending(&self, ending: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == ending)
    }

    /// Whether the whole file is test code.
    fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        self.path.split('/').any(|folder| folder == "tests")
            || name == "tests.rs"
            || name.ends_with("_tests.rs")
    }
}

/// Checks the repository; an error lists every violation.
pub fn command(words: &[&str]) -> Result {
    if !words.is_empty() {
        return Err(Failure::Misuse("tidy takes no arguments\n".into()));
    }
    let root = run::workspace();
    let mut violations = Vec::new();
    let sources = tree::read(root)?;
    for source in &sources {
        violations.extend(files::check(source));
        violations.extend(words::check(source));
        violations.extend(pages::check(source));
        violations.extend(prose::check(source));
    }
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        let page = rules::tests_page(&sources);
        std::fs::write(root.join(rules::TESTS_PAGE), page)
            .map_err(|problem| Failure::Failed(format!("{}: {problem}", rules::TESTS_PAGE)))?;
        eprintln!("tidy: wrote {}", rules::TESTS_PAGE);
        return Ok(());
    }
    violations.extend(tree::check(&sources));
    violations.extend(failures::check(&sources));
    violations.extend(rules::check(&sources));
    violations.extend(links::check(&sources, &|path| root.join(path).exists()));
    violations.extend(graph::check(&graph::read(root)?));
    violations.extend(licences::check(root)?);
    violations.sort();
    if violations.is_empty() {
        eprintln!("tidy: {} files, no violation", sources.len());
        return Ok(());
    }
    let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    Err(Failure::Failed(format!("{}\ntidy: {} violations", lines.join("\n"), lines.len())))
}

#[cfg(test)]
mod tests;
