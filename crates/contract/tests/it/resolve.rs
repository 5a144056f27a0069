//! Tests the adaptation of a contract to the columns of a table.

use std::collections::BTreeSet;
use std::time::Duration;

use postrider_contract::{ColumnRole, Contract, Defer};

use crate::builtin;

fn columns(names: &str) -> BTreeSet<String> {
    names.split_whitespace().map(str::to_owned).collect()
}

const SPECIFIED_MAIL: &str =
    "id status retry_count next_attempt_at last_attempt_at last_error created_at to_addresses subject";

#[test]
fn g02_without_lease_until_the_lease_is_five_minutes() {
    let contract = builtin("mail_outbox").resolve(&columns(SPECIFIED_MAIL)).expect("enough");
    assert_eq!(contract.stages[0].lease.duration, Duration::from_mins(5));
    assert_eq!(contract.columns.get(ColumnRole::LeaseUntil), None);
    assert!(!contract.keeps_recipient_results());
    assert!(!contract.message.contains_key("cc"));
    let whole = columns(&format!("{SPECIFIED_MAIL} lease_until claimed_by recipient_results cc_addresses"));
    let contract = builtin("mail_outbox").resolve(&whole).expect("enough");
    assert_eq!(contract.stages[0].lease.duration, Duration::from_mins(1));
    assert!(contract.keeps_recipient_results());
    assert!(contract.message.contains_key("cc"));
}

#[test]
fn every_missing_column_is_listed_with_what_needs_it() {
    let missing = builtin("mail_outbox").resolve(&columns("id status")).expect_err("much is missing");
    let named: Vec<String> = missing.iter().map(ToString::to_string).collect();
    assert!(
        named.iter().any(|text| text.contains("retry_count") && text.contains("columns.attempts")),
        "{named:?}"
    );
    assert!(
        named.iter().any(|text| text.contains("to_addresses") && text.contains("message.to")),
        "{named:?}"
    );
    assert_eq!(missing.len(), 6, "{named:?}");
}

#[test]
fn unmapped_names_of_sweeps_and_groups_are_needed_too() {
    let missing = builtin("dispatch_jobs").resolve(&BTreeSet::new()).expect_err("all is missing");
    for column in
        ["expires_at", "scheduled_for", "queued_at", "group_key", "sequence", "mode", "retry_strategy"]
    {
        assert!(missing.iter().any(|one| one.column == column), "{column}");
    }
}

const SPECIFIED_EMAILS: &str =
    "id status eml_file_path payload_file_path reason version created_at updated_at";

#[test]
fn e08_without_a_due_column_the_last_change_counts_and_attempts_show_dead_callbacks() {
    let contract =
        builtin("emails").resolve(&columns(&format!("{SPECIFIED_EMAILS} attempts"))).expect("enough");
    assert_eq!(contract.due.after, Some(ColumnRole::Updated));
    assert_eq!(contract.due.defer, Defer::None);
    assert_eq!(contract.counted_history(), None);
    assert_eq!(contract.state_named("SENT_SILENT"), None);
    for (stage, state) in [("sent_callback", "SENT"), ("failed_callback", "FAILED")] {
        let stage = contract.stage(stage).expect("callbacks run all the same");
        let state = contract.state_named(state).expect("a state");
        assert_eq!([stage.retryable, stage.dead, stage.rejected, stage.skipped], [state; 4]);
        assert!(contract.requeue.as_ref().expect("a requeue").moves.contains(&(state, state)));
        assert_eq!(contract.state(state).conditions.len(), 1);
    }
}

#[test]
fn e08_the_specified_table_is_enough_and_attempts_are_counted_in_the_history() {
    let contract = builtin("emails").resolve(&columns(SPECIFIED_EMAILS)).expect("enough");
    let history = contract.counted_history().expect("nothing else counts");
    assert_eq!((history.table.as_str(), history.order.as_str()), ("email_statuses", "id"));
    assert_eq!((history.row.as_str(), history.state.as_str()), ("email_id", "status"));
    assert_eq!(history.reason, "reason");
    assert_eq!(contract.due.after, Some(ColumnRole::Updated));
    assert_eq!(contract.stages.len(), 4);
}

#[test]
fn without_a_history_the_attempts_column_is_required() {
    let mut contract = builtin("emails");
    contract.history = None;
    let missing = contract.resolve(&columns(SPECIFIED_EMAILS)).expect_err("rows would be retried forever");
    assert_eq!(missing.iter().map(|one| one.column.as_str()).collect::<Vec<_>>(), ["attempts"]);
}

#[test]
fn a_whole_table_changes_nothing() {
    for name in Contract::builtin_names() {
        let contract = builtin(name);
        let present = all_columns(&contract);
        assert_eq!(contract.resolve(&present).expect("all there"), contract, "{name}");
    }
}

/// Adds the missing columns until none is missing, then every optional column.
fn all_columns(contract: &Contract) -> BTreeSet<String> {
    let mut present: BTreeSet<String> =
        contract.columns.0.values().map(|column| column.name.clone()).collect();
    present.extend(contract.message_columns().into_iter().map(|(_, column)| column));
    present.extend(contract.writes.iter().map(|write| write.column.name.clone()));
    while let Err(missing) = contract.resolve(&present) {
        present.extend(missing.into_iter().map(|one| one.column));
    }
    present
}
