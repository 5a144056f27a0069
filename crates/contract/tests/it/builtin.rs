//! Tests that the five built-in contracts parse, verify, and match their specifications.

use std::time::Duration;

use postrider_contract::{
    AttemptCounting, ColumnRole, Contract, Defer, DueNull, GroupMode, LeaseBy, OnError, When,
};

use crate::builtin;

#[test]
fn all_five_parse_and_verify() {
    let names: Vec<&str> = Contract::builtin_names().collect();
    assert_eq!(names.len(), 5);
    for name in names {
        assert_eq!(builtin(name).name, name);
    }
    assert_eq!(Contract::builtin("nothing"), None);
}

#[test]
fn no_line_of_a_built_in_contract_is_longer_than_120_columns() {
    for name in Contract::builtin_names() {
        for line in Contract::builtin(name).expect("a built-in").lines() {
            assert!(line.chars().count() <= 120, "{name}: {line}");
        }
    }
}

#[test]
fn g02_the_lease_is_a_minute_and_five_without_lease_until() {
    for name in ["mail_outbox", "dispatch_jobs"] {
        let lease = &builtin(name).stages[0].lease;
        assert_eq!(
            (lease.duration, lease.duration_without_lease_until),
            (Duration::from_mins(1), Duration::from_mins(5)),
            "{name}"
        );
    }
}

#[test]
fn m05_defaults_of_the_specification() {
    let stage = &builtin("mail_outbox").stages[0];
    assert_eq!((stage.attempts.max, stage.attempts.count), (5, AttemptCounting::Failures));
}

#[test]
fn j08_the_row_says_what_a_failure_does_to_its_group() {
    let group = builtin("dispatch_jobs").group.expect("a group");
    let OnError::ByColumn { column, values } = group.on_error else { panic!("by column") };
    assert_eq!(column, "mode");
    assert_eq!(values["BLOCK_ON_ERROR"], GroupMode::Block);
    assert_eq!(group.sequence, ["sequence", "created_at"]);
}

#[test]
fn j03_the_sweeps_of_the_queue() {
    let contract = builtin("dispatch_jobs");
    let stale = &contract.sweeps[0];
    assert!(stale.only_with_queue && !stale.publish);
    assert_eq!(stale.when, When::OlderThan { age: Duration::from_mins(15), since: "queued_at".into() });
    let publish = &contract.sweeps[1];
    assert!(publish.publish && publish.every == Duration::from_secs(5));
    assert_eq!(publish.writes[0].0.name, "queued_at", "else it would be stale again at once");
    let later = contract.sweeps.last().expect("sweeps");
    assert_eq!(later.when, When::Before { column: "scheduled_for".into() });
    assert!(later.blocks_claims, "nothing is sent before its time");
    assert_eq!((later.to, later.from.as_slice()), (publish.from[0], [publish.to].as_slice()));
}

#[test]
fn n01_n04_the_lock_and_the_computed_due_time() {
    let contract = builtin("open_event_notifications");
    let stage = &contract.stages[0];
    assert_eq!(stage.lease.by, LeaseBy::Time);
    assert_eq!(stage.lease.duration, Duration::from_mins(2));
    assert_eq!(stage.lease.fence, [ColumnRole::Owner, ColumnRole::ClaimedAt]);
    assert!(!stage.lease.spend);
    assert_eq!((contract.due.after, contract.due.defer), (Some(ColumnRole::Attempted), Defer::Lease));
}

#[test]
fn e01_the_four_stages_and_their_states() {
    let contract = builtin("emails");
    let names: Vec<&str> = contract.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["intake", "send", "sent_callback", "failed_callback"]);
    let literals: std::collections::BTreeSet<String> =
        contract.states.iter().map(|state| format!("{:?}", state.conditions[0].1)).collect();
    assert_eq!(literals.len(), 11, "eleven states");
    let requeue = contract.requeue.as_ref().expect("a requeue");
    let pairs: Vec<(&str, &str)> = requeue
        .moves
        .iter()
        .map(|(from, to)| (contract.state(*from).name.as_str(), contract.state(*to).name.as_str()))
        .collect();
    assert_eq!(pairs, [("INVALID", "ACCEPTED"), ("SENT_SILENT", "SENT"), ("FAILED_SILENT", "FAILED")]);
}

#[test]
fn o01_o05_claim_age_and_retention() {
    let contract = builtin("outbox");
    assert_eq!((contract.claim.min_age, contract.claim.batch), (Duration::from_secs(1), 50));
    assert_eq!(contract.due.null, DueNull::Now);
    assert_eq!(contract.retention[0].after, Duration::from_hours(7 * 24));
    assert_eq!(contract.retention[0].since, ["processed_at", "created_at"]);
}
