//! `cargo xtask crash`: runs the crash tests at full length on every database and broker.

use postrider_services::{Durability, Fleet};

use crate::run::{self, Failure, Result};

/// Kills and rows of a full run.
const KILLS: &str = "40";
const ROWS: &str = "20000";
const NOTIFY_KILLS: &str = "20";
const NOTIFY_ROWS: &str = "10000";
const EMAILS_KILLS: &str = "20";
const EMAILS_ROWS: &str = "1000";

/// The tests to run, and their size.
#[derive(Debug, PartialEq, Eq)]
struct CrashRun {
    /// The lane, which selects the tests.
    lane: &'static str,
    /// A part of the names of the tests to run; empty for all tests of the lane.
    only: &'static str,
    variables: Vec<(&'static str, String)>,
}

/// Runs the tests that the arguments select; all of them without arguments.
pub fn command(words: &[&str]) -> Result {
    for run in crash_runs(words)? {
        // Each test of mail starts its own database; those of records and e-mails share one.
        let fleet = [OUTBOX, EMAILS]
            .contains(&run.lane)
            .then(|| Fleet::start(Durability::ProcessCrash))
            .transpose()?;
        let mut variables = run.variables;
        variables.extend(fleet.iter().flat_map(Fleet::variables));
        // Run the tests one after the other: each starts several workers and servers, and prints its figures.
        let filter = format!("crash::{}::{}", run.lane, run.only);
        let test =
            ["test", "-p", "postrider", "--test", "it", &filter, "--", "--nocapture", "--test-threads=1"];
        run::run_with(&variables, &run::cargo_program(), &test)?;
    }
    Ok(())
}

const MAIL: &str = "mail";
const OUTBOX: &str = "outbox";
const NOTIFY: &str = "notify";
const EMAILS: &str = "emails";
const WEBHOOK: &str = "webhook";

/// Brokers for the queue of a webhook lane, and the test that stops the broker.
const QUEUES: [&str; 3] = ["nats", "amqp", "sqs"];
const QUEUE_TESTS: &str = "j03_";

/// Parses the arguments; `--seed` replays the random choices of an earlier run.
fn crash_runs(words: &[&str]) -> Result<Vec<CrashRun>> {
    let mut lanes = vec![MAIL, OUTBOX, NOTIFY, EMAILS, WEBHOOK];
    let (mut kills, mut rows, mut shared, mut only) = (None, None, Vec::new(), "");
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next().copied();
        if *word == "--lane" {
            lanes.retain(|lane| Some(*lane) == value);
            if lanes.is_empty() {
                return Err(Failure::Misuse(format!(
                    "crash --lane takes {MAIL}, {OUTBOX}, {NOTIFY}, {EMAILS} or {WEBHOOK}\n"
                )));
            }
            continue;
        }
        if *word == "--queue" {
            let Some(queue) = value.filter(|value| QUEUES.contains(value)) else {
                return Err(Failure::Misuse(format!("crash --queue takes {}\n", QUEUES.join(", "))));
            };
            lanes.retain(|lane| *lane == WEBHOOK);
            shared.push(("POSTRIDER_CRASH_QUEUE", queue.to_owned()));
            only = QUEUE_TESTS;
            continue;
        }
        let value = value.filter(|value| value.parse::<u64>().is_ok());
        let value =
            value.ok_or_else(|| Failure::Misuse(format!("crash {word} takes a number\n")))?.to_owned();
        match *word {
            "--kills" => kills = Some(value),
            "--rows" => rows = Some(value),
            "--seed" => shared.push(("POSTRIDER_CRASH_SEED", value)),
            _ => return Err(Failure::Misuse(format!("crash has no {word}\n"))),
        }
    }
    let crash_run = |lane| {
        let mut variables: Vec<(&'static str, String)> = shared.clone();
        let (own_rows, own_kills) = match lane {
            OUTBOX => (Some(ROWS), None),
            NOTIFY => (Some(NOTIFY_ROWS), Some(NOTIFY_KILLS)),
            EMAILS => (Some(EMAILS_ROWS), Some(EMAILS_KILLS)),
            _ => (None, Some(KILLS)),
        };
        let rows = rows.clone().or(own_rows.map(str::to_owned));
        variables.extend(rows.map(|rows| ("POSTRIDER_CRASH_ROWS", rows)));
        let kills = own_kills.map(|own| kills.clone().unwrap_or_else(|| own.to_owned()));
        variables.extend(kills.map(|kills| ("POSTRIDER_CRASH_KILLS", kills)));
        CrashRun { lane, only, variables }
    };
    Ok(lanes.into_iter().map(crash_run).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes_and_variables(words: &[&str]) -> Vec<(&'static str, Vec<(&'static str, String)>)> {
        crash_runs(words).unwrap().into_iter().map(|run| (run.lane, run.variables)).collect()
    }

    #[test]
    fn all_lanes_run_at_full_length_by_default() {
        let (kills, rows) =
            (("POSTRIDER_CRASH_KILLS", "40".to_owned()), ("POSTRIDER_CRASH_ROWS", "20000".to_owned()));
        let notify =
            vec![("POSTRIDER_CRASH_ROWS", "10000".to_owned()), ("POSTRIDER_CRASH_KILLS", "20".to_owned())];
        let emails =
            vec![("POSTRIDER_CRASH_ROWS", "1000".to_owned()), ("POSTRIDER_CRASH_KILLS", "20".to_owned())];
        let all = [
            ("mail", vec![kills.clone()]),
            ("outbox", vec![rows]),
            ("notify", notify),
            ("emails", emails),
            ("webhook", vec![kills]),
        ];
        assert_eq!(lanes_and_variables(&[]), all);
        let runs = lanes_and_variables(&["--lane", "mail", "--seed", "7", "--kills", "90"]);
        let seed = ("POSTRIDER_CRASH_SEED", "7".to_owned());
        assert_eq!(runs, [("mail", vec![seed, ("POSTRIDER_CRASH_KILLS", "90".to_owned())])]);
        let runs = crash_runs(&["--queue", "amqp"]).unwrap();
        let queue = ("POSTRIDER_CRASH_QUEUE", "amqp".to_owned());
        let kills = ("POSTRIDER_CRASH_KILLS", "40".to_owned());
        assert_eq!(runs, [CrashRun { lane: "webhook", only: "j03_", variables: vec![queue, kills] }]);
        let runs = lanes_and_variables(&["--rows", "400", "--lane", "outbox"]);
        assert_eq!(runs, [("outbox", vec![("POSTRIDER_CRASH_ROWS", "400".to_owned())])]);
    }

    #[test]
    fn invalid_numbers_and_lanes_are_misuse() {
        for words in [
            &["--kills"][..],
            &["--queue"],
            &["--queue", "kafka"],
            &["--kills", "many"],
            &["--speed", "9"],
            &["--lane", "fast"],
            &["--lane"],
        ] {
            assert!(matches!(crash_runs(words), Err(Failure::Misuse(_))), "{words:?}");
        }
    }
}
