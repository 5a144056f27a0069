//! `cargo xtask test`: builds everything once and runs all tests with real servers.

use std::thread;
use std::time::Duration;

use postrider_services::{Brokers, Durability, Fleet, MySql};

use crate::failures::Failures;
use crate::run::{self, Failure, Result};

/// Runs the tests that the arguments select; all of them without arguments.
pub fn command(words: &[&str]) -> Result {
    let (words, with_mysql) = parse_with_mysql(words)?;
    let (packages, rest) = split(&words);
    let mut build = vec!["test", "--no-run"];
    build.extend(packages.iter().copied());
    let mut test = vec!["test", "--no-fail-fast"];
    test.extend(packages.iter().copied());
    if !rest.is_empty() {
        test.push("--");
        test.extend(rest);
    }
    // Start the servers while cargo builds: they wait for disk and network, the build for the processor.
    let (fleet, brokers) = thread::scope(|scope| {
        let fleet = scope.spawn(|| Fleet::start(Durability::ProcessCrash));
        let brokers = scope.spawn(Brokers::start);
        let built = run::cargo(&build);
        let fleet = fleet.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let brokers = brokers.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        built.and_then(|()| Ok((fleet?, brokers?)))
    })?;
    let mut variables = [fleet.variables(), brokers.variables()].concat();
    let mysql = with_mysql.then(|| MySql::start(Durability::ProcessCrash)).transpose()?;
    if let Some(mysql) = &mysql {
        eprintln!("the tests of MariaDB run on MySQL {}", mysql.version());
        variables.retain(|(name, _)| *name != MYSQL);
        variables.push((MYSQL, mysql.url()));
    }
    let mut failures = Failures::default();
    let outcome = run::run_with_output(&variables, &run::cargo_program(), &test, TIME_LIMIT, &mut |line| {
        failures.read_line(line);
    });
    run::print(&failures.summary());
    outcome
}

/// For all tests together, which take a quarter of it: a test that hangs is reported by its name, not by a silent CI.
const TIME_LIMIT: Duration = Duration::from_mins(45);

/// The variable in which tests find the URL of MariaDB or MySQL.
const MYSQL: &str = "POSTRIDER_TEST_MYSQL";

/// Parses `--with mysql`, which replaces MariaDB with MySQL in all tests that use the shared server.
fn parse_with_mysql<'a>(words: &[&'a str]) -> Result<(Vec<&'a str>, bool)> {
    let Some(at) = words.iter().position(|word| *word == "--with") else {
        return Ok((words.to_vec(), false));
    };
    let mut rest = words.to_vec();
    rest.remove(at);
    if rest.get(at) != Some(&"mysql") {
        return Err(Failure::Misuse("test --with takes mysql\n".into()));
    }
    rest.remove(at);
    Ok((rest, true))
}

/// Splits the arguments into packages (all if none is named) and arguments of the test binaries.
fn split<'a>(words: &[&'a str]) -> (Vec<&'a str>, Vec<&'a str>) {
    let (mut packages, mut rest) = (Vec::new(), Vec::new());
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "-p" | "--package" => packages.extend(std::iter::once(word).chain(words.next())),
            "--locked" => packages.push(word),
            "--" => {}
            _ => rest.push(word),
        }
    }
    if !packages.iter().any(|word| word.starts_with("-p") || *word == "--package") {
        packages.push("--workspace");
    }
    (packages, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mysql_is_selected_by_name() {
        assert_eq!(
            parse_with_mysql(&["-p", "x", "--with", "mysql", "y"]).unwrap(),
            (vec!["-p", "x", "y"], true)
        );
        assert_eq!(parse_with_mysql(&["y"]).unwrap(), (vec!["y"], false));
        assert!(parse_with_mysql(&["--with"]).is_err() && parse_with_mysql(&["--with", "oracle"]).is_err());
    }

    #[test]
    fn arguments_go_to_cargo_or_to_the_tests() {
        assert_eq!(split(&[]), (vec!["--workspace"], vec![]));
        assert_eq!(split(&["m04", "g5"]), (vec!["--workspace"], vec!["m04", "g5"]));
        assert_eq!(
            split(&["-p", "postrider-engine", "drain", "--nocapture"]),
            (vec!["-p", "postrider-engine"], vec!["drain", "--nocapture"])
        );
    }
}
