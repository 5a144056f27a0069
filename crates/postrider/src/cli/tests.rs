//! Every command, option and argument explains itself in `--help`, and has a test that shows its effect.

use std::collections::BTreeMap;
use std::path::Path;

use clap::CommandFactory as _;

use super::Cli;

/// Commands that only group others are described by what these do together; all start with a verb.
#[test]
fn every_command_and_argument_has_a_help_text_that_stands_alone() {
    let mut missing = Vec::new();
    check("postrider", &Cli::command(), &mut missing);
    assert!(missing.is_empty(), "{missing:#?}");
}

fn check(path: &str, command: &clap::Command, missing: &mut Vec<String>) {
    if !command.get_about().is_some_and(|about| starts_with_a_verb(&about.to_string())) {
        missing.push(format!("{path}: {:?}", command.get_about().map(ToString::to_string)));
    }
    for argument in command.get_arguments() {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let known = ["help", "version"].contains(&argument.get_id().as_str());
        if !known && (help.split_whitespace().count() < 2 || !help.starts_with(char::is_uppercase)) {
            missing.push(format!("{path} {}: {help:?}", argument.get_id()));
        }
    }
    for inner in command.get_subcommands() {
        check(&format!("{path} {}", inner.get_name()), inner, missing);
    }
}

/// `Pause a lane` does; `A mail` and `Rows by state` do not.
fn starts_with_a_verb(about: &str) -> bool {
    let mut words = about.split_whitespace();
    let first = words.next().unwrap_or_default();
    let noun = first.ends_with('s') || ["A", "An", "The", "Its", "Every", "Who", "What"].contains(&first);
    first.starts_with(char::is_uppercase) && !noun && words.next().is_some() && !about.ends_with('.')
}

/// A flag that nothing reads would be accepted and ignored. `proofs.txt` names a test for each.
#[test]
fn every_argument_has_a_test() {
    let mut proofs = BTreeMap::new();
    for line in include_str!("proofs.txt").lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split(" | ").collect();
        let [command, argument, file, test] = cells[..] else { panic!("proofs.txt: {line}") };
        assert_eq!(
            proofs.insert((command.to_owned(), argument.to_owned()), (file, test)),
            None,
            "twice: {line}"
        );
    }
    let mut faults = Vec::new();
    compare("postrider", &Cli::command(), &mut proofs, &mut faults);
    faults.extend(proofs.keys().map(|(command, argument)| format!("there is no {command} {argument}")));
    assert!(faults.is_empty(), "proofs.txt: {faults:#?}");
}

type Proofs<'a> = BTreeMap<(String, String), (&'a str, &'a str)>;

fn compare(path: &str, command: &clap::Command, proofs: &mut Proofs<'_>, faults: &mut Vec<String>) {
    let arguments =
        command.get_arguments().filter(|one| !["help", "version"].contains(&one.get_id().as_str()));
    for argument in arguments {
        let id = argument.get_id().to_string();
        let flag = argument.get_long().map(|long| format!("--{long}"));
        match proofs.remove(&(path.to_owned(), id.clone())) {
            None => faults.push(format!("no test of {path} {id}")),
            Some((file, test)) if !uses(file, test, flag.as_deref()) => {
                faults.push(format!("{file} {test} does not use {path} {id}"));
            }
            Some(_) => {}
        }
    }
    for inner in command.get_subcommands() {
        let name = inner.get_name();
        let path = if path == "postrider" { name.to_owned() } else { format!("{path} {name}") };
        compare(&path, inner, proofs, faults);
    }
}

/// Whether the file has such a function, and that uses the flag. Its helpers append `--json`.
fn uses(file: &str, test: &str, flag: Option<&str>) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let Some((_, rest)) = text.split_once(&format!("fn {test}(")) else { return false };
    let body = rest.split("\n}\n").next().unwrap_or_default();
    flag.is_none_or(|flag| body.contains(flag) || (flag == "--json" && body.contains("json(&sandbox, ")))
}
