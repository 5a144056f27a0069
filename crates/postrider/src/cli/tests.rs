//! Every command, option and argument explains itself in `--help`.

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
