//! `cargo xtask tidy`: the rules of this repository that no compiler checks.
//!
//! Owns: which files the rules check, and the report: one line per breach with its remedy, all breaches in one run.
//! Each rule is a pure function of files or of the crate graph, so that it can be tested on a few lines.

mod blank;
mod files;
mod graph;
mod licences;
mod links;
mod pages;
mod prose;
mod rules;
mod tree;
mod words;

use std::fmt;
use std::path::Path;

use crate::run::{self, Failure, Result};

/// One breach of one rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Breach {
    path: String,
    line: usize,
    what: String,
    remedy: &'static str,
}

impl Breach {
    fn new(path: &str, line: usize, what: impl Into<String>, remedy: &'static str) -> Self {
        Self { path: path.to_owned(), line, what: what.into(), remedy }
    }
}

impl fmt::Display for Breach {
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

/// Checks the repository; an error lists every breach.
pub fn command(words: &[&str]) -> Result {
    if !words.is_empty() {
        return Err(Failure::Misuse("tidy takes nothing\n".into()));
    }
    let root = run::workspace();
    let mut breaches = Vec::new();
    let sources = tree::read(root)?;
    for source in &sources {
        breaches.extend(files::check(source));
        breaches.extend(words::check(source));
        breaches.extend(pages::check(source));
        breaches.extend(prose::check(source));
    }
    breaches.extend(tree::check(&sources));
    breaches.extend(rules::check(&sources));
    breaches.extend(links::check(&sources, &|path| root.join(path).exists()));
    breaches.extend(graph::check(&graph::read(root)?));
    breaches.extend(licences::check(root)?);
    breaches.sort();
    if breaches.is_empty() {
        eprintln!("tidy: {} files, no breach", sources.len());
        return Ok(());
    }
    let lines: Vec<String> = breaches.iter().map(ToString::to_string).collect();
    Err(Failure::Failed(format!("{}\ntidy: {} breaches", lines.join("\n"), lines.len())))
}

#[cfg(test)]
mod tests;
