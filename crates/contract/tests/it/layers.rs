//! G4: tests that a lane can override every column, state and number.

use std::time::Duration;

use postrider_contract::{
    ColumnRole, Condition, Contract, GroupMode, Layer, Literal, MessageValue, OnError, Transition,
};

fn layer(text: &str) -> Layer {
    Layer::new("postrider.toml", "lanes.mail", text.parse().expect("TOML"))
}

fn with(name: &str, text: &str) -> Result<Contract, postrider_config::Mistakes> {
    Contract::parse_with("c.toml", Contract::builtin(name).expect("a built-in"), &[layer(text)])
}

#[test]
fn g04_a_state_gets_another_literal() {
    let contract = with("mail_outbox", "[states]\ndispatching = 'in_flight'").expect("valid");
    let state = contract.state_named("dispatching").expect("the state");
    let literal = Condition::Is(Literal::Text("in_flight".into()));
    assert_eq!(contract.state(state).conditions, [("status".to_owned(), literal)]);
}

#[test]
fn g04_m10_camel_case_columns() {
    let contract = with(
        "mail_outbox",
        "[table]\nname = 'MailOutbox'\n[columns]\nattempts = 'retryCount'\ndue = 'nextAttemptAt'\nclaimed_at = 'lastAttemptAt'\n[message]\nto = 'toAddresses'\nresults = 'recipientResults?'",
    )
    .expect("valid");
    assert_eq!(contract.columns.get(ColumnRole::Attempts), Some("retryCount"));
    assert!(matches!(&contract.message["to"], MessageValue::Column(column) if column.name == "toAddresses"));
    let written: Vec<&str> = contract.writes.iter().map(|write| write.column.name.as_str()).collect();
    assert_eq!(written, ["recipientResults"; 3], "the write follows the field's column");
}

#[test]
fn g04_states_and_writes_follow_a_renamed_column() {
    let contract = with("dispatch_jobs", "columns.due = 'nextAttemptAt'").expect("valid");
    let dead = contract.state_named("DEAD").expect("the state");
    assert!(contract.state(dead).conditions.contains(&("nextAttemptAt".into(), Condition::Null(true))));
    let contract = with("open_event_notifications", "columns.error = 'lastError'").expect("valid");
    assert!(contract.writes.iter().all(|write| write.column.name == "lastError"));
    assert!(contract.writes.iter().any(|write| write.on == [Transition::Delivered]));
}

#[test]
fn g04_numbers() {
    let contract = with(
        "outbox",
        "attempts.max = 9\nretry = { base = '2s', cap = '5m', jitter = 0.5 }\nclaim.batch = 500\nlease.for = '30s'\nretention.DELIVERED = '1d'",
    )
    .expect("valid");
    assert_eq!(contract.stages[0].attempts.max, 9);
    assert_eq!(contract.stages[0].lease.duration, Duration::from_secs(30));
    assert_eq!(contract.claim.batch, 500);
    assert_eq!(contract.retention[0].after, Duration::from_hours(24));
}

#[test]
fn one_stage_by_its_name() {
    let contract = with("emails", "stage.send.lease.for = '1h'").expect("valid");
    let leases: Vec<Duration> = contract.stages.iter().map(|stage| stage.lease.duration).collect();
    let usual = Duration::from_mins(10);
    assert_eq!(leases, [usual, Duration::from_hours(1), usual, usual]);
}

#[test]
fn a_mistake_in_a_layer_is_named_as_its_author_knows_it() {
    let problems =
        with("mail_outbox", "columns.attempts = 'retry count'\nattempts.maxx = 3\nretry.cap = '1s'")
            .expect_err("three");
    let found: Vec<(&str, &str, bool)> = problems
        .iter()
        .map(|problem| (&*problem.place.source, problem.key.as_str(), problem.place.position.is_none()))
        .collect();
    assert_eq!(
        found,
        [
            ("postrider.toml", "lanes.mail.attempts.maxx", true),
            ("postrider.toml", "lanes.mail.columns.attempts", true),
            ("postrider.toml", "lanes.mail.retry.cap", true),
        ]
    );
}

#[test]
fn the_last_layer_wins() {
    let text = Contract::builtin("outbox").expect("a built-in");
    let layers = [layer("claim.batch = 10"), layer("claim.batch = 20")];
    assert_eq!(Contract::parse_with("c.toml", text, &layers).expect("valid").claim.batch, 20);
}

#[test]
fn o08_a_lane_sets_what_a_failure_does_to_later_rows() {
    for name in ["outbox", "dispatch_jobs"] {
        let text = Contract::builtin(name).expect("a contract of ours");
        for (word, hold) in
            [("wait", GroupMode::Wait), ("block", GroupMode::Block), ("next", GroupMode::Next)]
        {
            let over = layer(&format!("[group]\non_error = {word:?}"));
            let contract = Contract::parse_with(name, text, &[over]).expect("it may");
            let group = contract.group.expect("it has groups");
            assert_eq!(group.on_error, OnError::Always(hold), "{name}");
            assert_eq!(group.run, 50, "all else stays");
        }
    }
    let text = Contract::builtin("outbox").expect("a contract of ours");
    let problems = Contract::parse_with("outbox", text, &[layer("[group]\non_error = \"stop\"")])
        .expect_err("no such mode");
    let shown = problems.to_string();
    assert!(shown.contains("lanes.mail.group.on_error") && shown.contains("block"), "{shown}");
}
