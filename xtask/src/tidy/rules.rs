//! Checks that every rule in `docs/rules.md` has a test that names it, that laws or tests reach every store on which it
//! is said to hold, and that every rule named by a test or a law exists; generates the page that lists the tests and
//! laws of each rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::tidy::{Source, Violation};
use crate::tidy::{rule_stores, test_names};

const PAGE: &str = "docs/rules.md";

/// The generated page.
pub const TESTS_PAGE: &str = "docs/rule-tests.md";

/// The generated page that says on which stores each law holds.
const LAWS_PAGE: &str = "docs/conformance.md";

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
    let laws_page = sources.iter().find(|source| source.path == LAWS_PAGE).map_or("", |page| &page.text);
    for (id, rule) in &rules {
        if proofs.tests.contains_key(id) {
            violations.extend(unreached(*id, rule, &proofs, laws_page));
        } else {
            let what = format!("no test names rule {}", show(*id));
            let remedy = "write a test whose name begins with the id";
            violations.push(Violation::new(PAGE, rule.line, what, remedy));
        }
    }
    let generated = sources.iter().find(|source| source.path == TESTS_PAGE);
    if generated.is_some_and(|generated| generated.text != tests_page(sources)) {
        let what = "the list of tests is out of date";
        violations.push(Violation::new(TESTS_PAGE, 1, what, "run UPDATE_REFERENCE=1 cargo xtask tidy"));
    }
    violations
}

/// The stores on which a rule is said to hold, but that none of its laws and tests reaches.
fn unreached(id: Id, rule: &Rule, proofs: &Proofs, laws_page: &str) -> Option<Violation> {
    let remedy = "add a law or a test, or name the stores on which the rule holds";
    let Some(mut stores) = rule_stores::stated(&rule.stores) else {
        let what = format!("`{}` is neither `all`, `SQL`, nor a list of stores", rule.stores);
        return Some(Violation::new(PAGE, rule.line, what, remedy));
    };
    for law in proofs.laws.get(&id).into_iter().flatten() {
        let reached = rule_stores::of_law(laws_page, law, id.0);
        stores.retain(|store| !reached.contains(store));
    }
    for (path, names) in proofs.tests.get(&id).into_iter().flatten() {
        for name in names {
            let reached = rule_stores::of_test(path, name);
            stores.retain(|store| !reached.contains(store));
        }
    }
    (!stores.is_empty()).then(|| {
        let stores: Vec<&str> = stores.into_iter().collect();
        let what = format!("no law and no test of {} reaches {}", show(id), stores.join(", "));
        Violation::new(PAGE, rule.line, what, remedy)
    })
}

/// Returns the page that lists the tests and laws of each rule, as Markdown.
pub fn tests_page(sources: &[Source]) -> String {
    let listed = sources.iter().find(|source| source.path == PAGE).map(|page| listed(&page.text));
    let mut rules: Vec<(Id, Rule)> = listed.unwrap_or_default().into_iter().collect();
    rules.sort_by_key(|(_, rule)| rule.line);
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
        // The texts of tidy's own tests look like tests of rules.
        for source in sources.iter().filter(|source| source.is_rust() && source.path.starts_with("crates/")) {
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

/// A row of the tables of rules.
struct Rule {
    line: usize,
    /// The last cell: the stores on which the rule holds.
    stores: String,
}

/// The rules in the tables of the page.
fn listed(text: &str) -> BTreeMap<Id, Rule> {
    let rows = text.lines().enumerate().filter_map(|(at, line)| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        let id = id(&cells.first()?.to_ascii_lowercase())?;
        Some((id, Rule { line: at + 1, stores: (*cells.last()?).to_owned() }))
    });
    rows.collect()
}

/// The rules named by tests, `fn m04_backoff_…`, with their lines and names.
fn named(source: &Source, macros: &BTreeSet<String>) -> Vec<(usize, Id, String)> {
    let mut found = Vec::new();
    for (line, name) in test_names::of(source, macros) {
        found.extend(leading_ids(&name).into_iter().map(|id| (line, id, name.clone())));
    }
    found
}

/// The rules at the start of a name: `m3_m4_failures` names two, `m2_to_m6_failures` five.
fn leading_ids(name: &str) -> Vec<Id> {
    let mut found = Vec::new();
    let mut range_start: Option<Id> = None;
    let mut words = name.split('_').peekable();
    while let Some(word) = words.next() {
        // A test's name goes on after its ids.
        let (Some((letter, number)), Some(_)) = (id(word), words.peek()) else { break };
        let first = range_start.take().filter(|start| start.0 == letter).map_or(number, |start| start.1 + 1);
        found.extend((first..=number).map(|number| (letter, number)));
        range_start = words.next_if_eq(&"to").map(|_| (letter, number));
    }
    found
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

#[cfg(test)]
mod tests;
