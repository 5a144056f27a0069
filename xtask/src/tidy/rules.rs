//! Checks that every rule in `docs/rules.md` has a test that names it, and that every rule named by a test or a law
//! exists; generates the page that lists the tests and laws of each rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::tidy::test_names;
use crate::tidy::{Source, Violation};

const PAGE: &str = "docs/rules.md";

/// The generated page.
pub const TESTS_PAGE: &str = "docs/rule-tests.md";

/// The list of laws. Each has the rules that it proves in its second pair of brackets.
const LAWS: &str = "crates/conformance/src/law.rs";

/// The first letters of rule ids: all contracts, mail, jobs, notifications, e-mails, outbox.
const LETTERS: [char; 6] = ['g', 'm', 'j', 'n', 'e', 'o'];

/// A rule id, `m4`: a letter and a number without leading zeros.
type Id = (char, u32);

/// Compares the listed rules with those that tests and laws name, and the generated page with what is there.
pub fn check(sources: &[Source]) -> Vec<Violation> {
    let Some(page) = sources.iter().find(|source| source.path == PAGE) else { return Vec::new() };
    let rules = listed(&page.text);
    let proofs = Proofs::find(sources);
    let mut violations = Vec::new();
    for (id, path, line) in &proofs.places {
        if !rules.contains_key(id) {
            let what = format!("a test names rule {}, which {PAGE} does not list", show(*id));
            violations.push(Violation::new(path, *line, what, "list the rule, or rename the test"));
        }
    }
    for (id, line) in rules.iter().filter(|(id, _)| !proofs.tests.contains_key(*id)) {
        let what = format!("no test names rule {}", show(*id));
        violations.push(Violation::new(PAGE, *line, what, "write a test whose name begins with the id"));
    }
    let generated = sources.iter().find(|source| source.path == TESTS_PAGE);
    if generated.is_some_and(|generated| generated.text != tests_page(sources)) {
        let what = "the list of tests is out of date";
        violations.push(Violation::new(TESTS_PAGE, 1, what, "run UPDATE_REFERENCE=1 cargo xtask tidy"));
    }
    violations
}

/// Returns the page that lists the tests and laws of each rule, as Markdown.
pub fn tests_page(sources: &[Source]) -> String {
    let listed = sources.iter().find(|source| source.path == PAGE).map(|page| listed(&page.text));
    let mut rules: Vec<(Id, usize)> = listed.unwrap_or_default().into_iter().collect();
    rules.sort_by_key(|(_, line)| *line);
    let proofs = Proofs::find(sources);
    let mut page = String::from(
        "# The tests of each rule\n\n\
         `UPDATE_REFERENCE=1 cargo xtask tidy` writes this page; a check fails when it is out of date. The rules are in\n\
         [rules.md](rules.md). A law runs on every store that has the contract: [what holds where](conformance.md).\n\
         A test whose path names no store either runs on every SQL store, or needs none.\n",
    );
    let write = "writing to a String cannot fail";
    for (id, _) in rules {
        write!(page, "\n## {}\n\n", show(id)).expect(write);
        if let Some(laws) = proofs.laws.get(&id) {
            let laws: Vec<String> = laws.iter().map(|law| format!("`{law}`")).collect();
            writeln!(page, "- laws: {}", laws.join(", ")).expect(write);
        }
        for (path, names) in proofs.tests.get(&id).into_iter().flatten() {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            writeln!(page, "- [{path}](../{path}): {}", names.join(", ")).expect(write);
        }
    }
    page
}

/// Where rules are proved.
#[derive(Default)]
struct Proofs {
    /// Every place that names a rule.
    places: Vec<(Id, String, usize)>,
    /// The names of tests by rule and file.
    tests: BTreeMap<Id, BTreeMap<String, BTreeSet<String>>>,
    laws: BTreeMap<Id, Vec<String>>,
}

impl Proofs {
    fn find(sources: &[Source]) -> Self {
        let mut proofs = Self::default();
        let macros = test_names::macros(sources);
        for source in sources.iter().filter(|source| source.is_rust()) {
            for (line, id, name) in named(source, &macros) {
                proofs.places.push((id, source.path.clone(), line));
                let files = proofs.tests.entry(id).or_default();
                files.entry(source.path.clone()).or_default().insert(name);
            }
        }
        if let Some(list) = sources.iter().find(|source| source.path == LAWS) {
            for (line, id, law) in laws(&list.text) {
                proofs.places.push((id, LAWS.to_owned(), line));
                proofs.laws.entry(id).or_default().push(law);
            }
        }
        proofs
    }
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

/// The rules named by tests, `fn m04_backoff_…`, with their lines and names.
fn named(source: &Source, macros: &BTreeSet<String>) -> Vec<(usize, Id, String)> {
    let tests = test_names::of(source, macros).into_iter();
    tests.filter_map(|(line, name)| Some((line, id(name.split_once('_')?.0)?, name))).collect()
}

/// The rules that laws prove, `theme::name [applies] [M1 J2] "…";`, with their lines and the names of the laws.
fn laws(text: &str) -> Vec<(usize, Id, String)> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some((name, rest)) = line.trim_start().split_once(" [") else { continue };
        let Some((_, name)) = name.split_once("::") else { continue };
        let Some((rules, _)) = rest.split_once("] [").and_then(|(_, rest)| rest.split_once("] \"")) else {
            continue;
        };
        let ids = rules.split_whitespace().filter_map(|rule| id(&rule.to_ascii_lowercase()));
        found.extend(ids.map(|id| (at + 1, id, name.to_owned())));
    }
    found
}

fn id(text: &str) -> Option<Id> {
    let letter = text.chars().next().filter(|letter| LETTERS.contains(letter))?;
    let digits = &text[1..];
    let is_number = (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten().map(|number| (letter, number))
}
