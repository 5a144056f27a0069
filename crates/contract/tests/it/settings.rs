//! Tests existing setting names.

use std::collections::BTreeMap;
use std::time::Duration;

use postrider_config::Mistakes;
use postrider_contract::{Contract, ExternalSettings, Schedule};

use crate::builtin;

fn outside(name: &str, pairs: &[(&str, &str)]) -> Result<ExternalSettings, Mistakes> {
    let pairs: BTreeMap<&str, &str> = pairs.iter().copied().collect();
    let (outside, problems) =
        builtin(name).external_settings(|name| pairs.get(name).map(|text| (*text).to_owned()));
    Mistakes::check(problems).map(|()| outside)
}

fn applied(name: &str, pairs: &[(&str, &str)]) -> Result<Contract, Mistakes> {
    let outside = outside(name, pairs)?;
    Contract::parse_with("c.toml", Contract::builtin(name).expect("a built-in"), &[outside.layer])
}

#[test]
fn m05_the_settings_of_the_specification() {
    let contract = applied(
        "mail_outbox",
        &[
            ("DISPATCH_MAX_ATTEMPTS", "7"),
            ("DISPATCH_BACKOFF_BASE_SECONDS", "10"),
            ("DISPATCH_BACKOFF_MAX_SECONDS", "100"),
            ("DISPATCH_BACKOFF_JITTER", "0"),
        ],
    )
    .expect("in range");
    let stage = &contract.stages[0];
    assert_eq!(stage.attempts.max, 7);
    let Schedule::Exponential { base, cap, jitter, .. } = stage.retry_rule.schedule else {
        panic!("exponential")
    };
    assert_eq!((base, cap), (Duration::from_secs(10), Duration::from_secs(100)));
    assert!(jitter.abs() < f64::EPSILON);
}

#[test]
fn m05_out_of_range_names_the_setting() {
    for (name, text) in [
        ("DISPATCH_MAX_ATTEMPTS", "0"),
        ("DISPATCH_MAX_ATTEMPTS", "-1"),
        ("DISPATCH_MAX_ATTEMPTS", "many"),
        ("DISPATCH_BACKOFF_BASE_SECONDS", "0"),
        ("DISPATCH_BACKOFF_BASE_SECONDS", "-5"),
        ("DISPATCH_BACKOFF_BASE_SECONDS", "7200"),
        ("DISPATCH_BACKOFF_MAX_SECONDS", "1"),
        ("DISPATCH_BACKOFF_JITTER", "1.1"),
        ("DISPATCH_BACKOFF_JITTER", "NaN"),
    ] {
        let problems = applied("mail_outbox", &[(name, text)]).expect_err("out of range");
        let shown = problems.to_string();
        assert!(shown.starts_with(&format!("{name}: ")), "{name}={text}: {shown}");
        assert_eq!(problems.iter().count(), 1, "{shown}");
    }
}

#[test]
fn m05_two_mistakes_are_reported_together() {
    let problems =
        applied("mail_outbox", &[("DISPATCH_MAX_ATTEMPTS", "x"), ("DISPATCH_BACKOFF_JITTER", "y")])
            .expect_err("two");
    assert_eq!(problems.iter().count(), 2);
}

#[test]
fn o04_dotted_names_and_their_variables() {
    for name in ["app.outbox.batchSize", "APP_OUTBOX_BATCH_SIZE", "APP_OUTBOX_BATCHSIZE"] {
        assert_eq!(outside("outbox", &[(name, "77")]).expect("in range").lane.batch, Some(77), "{name}");
    }
}

#[test]
fn o04_settings_of_the_lane_are_separate() {
    let found =
        outside("outbox", &[("APP_OUTBOX_POLL_INTERVAL", "250ms"), ("app.outbox.publishTimeout", "3s")])
            .expect("fine");
    assert_eq!(found.lane.poll, Some(Duration::from_millis(250)));
    assert_eq!(found.lane.timeout, Some(Duration::from_secs(3)));
    assert!(found.layer.values.is_empty());
}

#[test]
fn o04_iso_8601_durations_are_read_as_java_writes_them() {
    let pairs = [
        ("app.outbox.pollInterval", "PT0.5S"),
        ("APP_OUTBOX_INITIAL_BACKOFF", "PT2S"),
        ("APP_OUTBOX_PUBLISHTIMEOUT", "PT1M"),
    ];
    let found = outside("outbox", &pairs).expect("fine");
    assert_eq!(found.lane.poll, Some(Duration::from_millis(500)));
    assert_eq!(found.lane.timeout, Some(Duration::from_mins(1)));
    let contract = applied("outbox", &pairs).expect("fine");
    let Schedule::Exponential { base, .. } = contract.stages[0].retry_rule.schedule else {
        panic!("exponential")
    };
    assert_eq!(base, Duration::from_secs(2));
    let problems = outside("outbox", &[("app.outbox.pollInterval", "P1M")]).expect_err("a month");
    assert!(problems.to_string().contains("no fixed length"), "{problems}");
}

#[test]
fn o04_a_number_without_its_unit_is_not_guessed() {
    let problems =
        outside("outbox", &[("APP_OUTBOX_POLL_INTERVAL", "500")]).expect_err("seconds or milliseconds?");
    assert!(problems.to_string().contains("write 500ms or 500s"), "{problems}");
}

#[test]
fn e04_the_table_by_its_variable() {
    let contract = applied("emails", &[("EMAIL_OUTBOX_TABLE", "mail.outgoing")]).expect("fine");
    assert_eq!((contract.table.schema.as_deref(), contract.table.name.as_str()), (Some("mail"), "outgoing"));
    let problems = applied("emails", &[("EMAIL_OUTBOX_TABLE", "x; DROP TABLE y")]).expect_err("no name");
    assert!(problems.to_string().contains("EMAIL_OUTBOX_TABLE"), "{problems}");
}
