use postrider_contract::Contract;

use super::*;
use crate::{Dialect, ddl, render};

/// The reference tables, without what a test removes.
fn notifications(change: impl Fn(&mut Shape)) -> (Contract, Shape) {
    let text = Contract::builtin("open_event_notifications").unwrap();
    let contract = Contract::parse("c.toml", text).unwrap();
    let mut shape = ddl::reference_shape(&contract, Dialect::Sqlite).unwrap();
    change(&mut shape);
    (contract, shape)
}

fn without(table: &'static str, columns: &'static [&'static str]) -> impl Fn(&mut Shape) {
    move |shape| {
        let found = shape.related.get_mut(table).unwrap();
        found.retain(|column| !columns.contains(&column.name.as_str()));
    }
}

fn joined(contract: &Contract, shape: &Shape) -> String {
    let program = render(contract, &contract.stages[0], Dialect::Sqlite, shape).unwrap();
    program.join.unwrap().script.steps[0].sql.clone()
}

#[test]
fn a_missing_table_is_reported_by_name() {
    let (contract, shape) = notifications(|shape| {
        shape.related.remove("subscriptions");
        without("open_events", &["event_at", "payload"])(shape);
        without("subscription_events", &["section_status"])(shape);
    });
    assert_eq!(
        missing(&contract, &shape),
        [
            "column subscription_events.section_status is missing: the contract's `effect.1` fills it",
            "column open_events.event_at is missing: the contract's `join.event` needs it",
            "table subscriptions is missing: the contract's `join.subscription` needs it",
        ]
    );
}

#[test]
fn what_may_be_absent_reads_as_null_and_the_fields_stay_the_same() {
    let (contract, all) = notifications(|_| {});
    let whole = joined(&contract, &all);
    let (_, shape) = notifications(without("subscriptions", &["locale", "unsubscribe_token"]));
    assert_eq!(missing(&contract, &shape), Vec::<String>::new());
    let less = joined(&contract, &shape);
    assert!(!less.contains("unsubscribe_token") && less.contains("\"contact_value\""), "{less}");
    let columns = |sql: &str| sql.split("\nFROM").next().unwrap().matches(", ").count();
    assert_eq!(columns(&whole), columns(&less));
}

#[test]
fn a_table_that_may_be_absent_takes_those_joined_to_it_along() {
    let (contract, shape) = notifications(|shape| {
        shape.related.remove("sections");
    });
    assert_eq!(missing(&contract, &shape), Vec::<String>::new());
    let sql = joined(&contract, &shape);
    assert!(!sql.contains("sections") && !sql.contains("courses"), "{sql}");
    let (_, unlinked) = notifications(without("open_events", &["section_id"]));
    let sql = joined(&contract, &unlinked);
    assert!(!sql.contains("sections") && sql.contains("LEFT JOIN \"subscriptions\""), "{sql}");
}
