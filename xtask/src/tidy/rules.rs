//! Checks that every rule in `docs/rules.md` has a test that names it, and that every rule named by a test exists.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::{Source, Violation};

const PAGE: &str = "docs/rules.md";

/// The first letters of rule ids: all contracts, mail, jobs, notifications, e-mails, outbox.
const LETTERS: [char; 6] = ['g', 'm', 'j', 'n', 'e', 'o'];

/// A rule id, `m4`: a letter and a number without leading zeros.
type Id = (char, u32);

/// Compares the listed rules with those that tests name.
pub fn check(sources: &[Source]) -> Vec<Violation> {
    let Some(page) = sources.iter().find(|source| source.path == PAGE) else { return Vec::new() };
    let rules = listed(&page.text);
    let mut tested = BTreeSet::new();
    let mut violations = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        for (line, id) in named(&source.text) {
            tested.insert(id);
            if !rules.contains_key(&id) {
                let what = format!("a test names rule {}, which {PAGE} does not list", show(id));
                violations.push(Violation::new(
                    &source.path,
                    line,
                    what,
                    "list the rule, or rename the test",
                ));
            }
        }
    }
    for (id, line) in rules.iter().filter(|(id, _)| !tested.contains(*id)) {
        let what = format!("no test names rule {}", show(*id));
        violations.push(Violation::new(PAGE, *line, what, "write a test whose name begins with the id"));
    }
    violations
}

fn show((letter, number): Id) -> String {
    format!("{}{number}", letter.to_ascii_uppercase())
}

/// The rules in the first cells of the tables, with their lines.
fn listed(text: &str) -> BTreeMap<Id, usize> {
    let cells = text.lines().enumerate().filter_map(|(at, line)| {
        let cell = line.strip_prefix("| ")?.split(" |").next()?;
        Some((id(&cell.to_ascii_lowercase())?, at + 1))
    });
    cells.collect()
}

/// The rules named by functions, `fn m04_backoff_…`, with their lines.
fn named(text: &str) -> Vec<(usize, Id)> {
    let functions = text.lines().enumerate().filter_map(|(at, line)| {
        let (_, name) = line.split_once("fn ")?;
        let (head, _) = name.split_once('_')?;
        Some((at + 1, id(head)?))
    });
    functions.collect()
}

fn id(text: &str) -> Option<Id> {
    let letter = text.chars().next().filter(|letter| LETTERS.contains(letter))?;
    let digits = &text[1..];
    let is_number = (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten().map(|number| (letter, number))
}
