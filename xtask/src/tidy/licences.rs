//! Checks licences and banned crates of all dependencies against the lists of `deny.toml`.
//!
//! `cargo deny` checks the same and more, if it is installed; this part needs only cargo.

use std::path::Path;

use serde_json::Value;

use crate::run::{self, Failure, Result};
use crate::tidy::Violation;

/// The two lists of `deny.toml` that are checked.
#[derive(Debug, Default)]
pub struct Policy {
    pub allowed: Vec<String>,
    pub banned: Vec<String>,
}

/// Checks all dependencies of the workspace.
pub fn check(root: &Path) -> Result<Vec<Violation>> {
    let path = root.join("deny.toml");
    let text = std::fs::read_to_string(&path)
        .map_err(|problem| Failure::Failed(format!("{}: {problem}", path.display())))?;
    let host = run::host()?;
    let metadata = run::metadata(root, &["--filter-platform", &host])?;
    Ok(check_packages(&Policy::parse(&text), &metadata))
}

impl Policy {
    /// Reads `allow` of `[licenses]` and `deny` of `[bans]`: in both, every quoted string up to the closing bracket.
    pub fn parse(text: &str) -> Self {
        Self { allowed: list(text, "[licenses]", "allow"), banned: list(text, "[bans]", "deny") }
    }
}

fn list(text: &str, section: &str, key: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let inside: Vec<&str> = lines
        .skip_while(|line| line.trim() != section)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .collect();
    let body = inside.join("\n");
    let start = body.find(&format!("{key} = [")).unwrap_or(body.len());
    let end = body[start..].find(']').map_or(body.len(), |length| start + length);
    body[start..end].split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Checks the packages of `cargo metadata` against a policy.
pub fn check_packages(policy: &Policy, metadata: &Value) -> Vec<Violation> {
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    let mut violations = Vec::new();
    for package in &packages {
        let name = package["name"].as_str().unwrap_or_default();
        let licence = package["license"].as_str().unwrap_or_default();
        if policy.banned.iter().any(|banned| banned == name) {
            let remedy = "choose features or a crate without it (deny.toml says why)";
            violations.push(Violation::new("Cargo.lock", 1, format!("{name} is banned"), remedy));
        }
        if !is_allowed(licence, &policy.allowed) {
            let what = format!("the licence of {name} is `{licence}`");
            violations.push(Violation::new(
                "Cargo.lock",
                1,
                what,
                "use another crate, or allow it in deny.toml",
            ));
        }
    }
    violations
}

/// Evaluates an SPDX expression: OR of ANDs, with parentheses; `/` is an old form of OR.
pub fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut tokens = spaced.split_whitespace().peekable();
    let verdict = any(&mut tokens, allowed);
    verdict && tokens.next().is_none()
}

type Tokens<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(tokens: &mut Tokens<'_>, allowed: &[String]) -> bool {
    let mut verdict = all(tokens, allowed);
    while tokens.next_if_eq(&"OR").is_some() {
        verdict |= all(tokens, allowed);
    }
    verdict
}

fn all(tokens: &mut Tokens<'_>, allowed: &[String]) -> bool {
    let mut verdict = one(tokens, allowed);
    while tokens.next_if_eq(&"AND").is_some() {
        verdict &= one(tokens, allowed);
    }
    verdict
}

fn one(tokens: &mut Tokens<'_>, allowed: &[String]) -> bool {
    match tokens.next() {
        Some("(") => {
            let verdict = any(tokens, allowed);
            tokens.next_if_eq(&")").is_some() && verdict
        }
        Some(licence) => {
            let mut whole = licence.to_owned();
            if tokens.next_if_eq(&"WITH").is_some() {
                whole = format!("{licence} WITH {}", tokens.next().unwrap_or_default());
            }
            allowed.contains(&whole)
        }
        None => false,
    }
}
