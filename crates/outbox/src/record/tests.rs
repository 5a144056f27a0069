//! Validation of records before a statement is sent.

use std::time::{Duration, SystemTime};

use postrider_sql_builder::Dialect;

use super::*;

fn refused(record: &Record) -> String {
    record.insert(&Table::outbox()).err().expect("it is refused").to_string()
}

#[test]
fn mistakes_are_reported_before_the_insert() {
    let fine = || Record::topic("orders").payload("{}");
    assert!(fine().insert(&Table::outbox()).is_ok());
    assert_eq!(
        refused(&Record::topic(" ").payload("{}")),
        "topic is empty: give it a value, or leave it out"
    );
    assert_eq!(
        refused(&Record::topic("t".repeat(250)).payload("{}")),
        "topic has 250 characters, more than 249"
    );
    assert_eq!(refused(&Record::topic("orders")), "the record has no payload: call payload() or json()");
    assert!(refused(&Record::topic("a\r\nb").payload("")).starts_with("topic holds a control character"));
    assert!(refused(&fine().payload("\0")).starts_with("payload holds a NUL"));
    assert!(refused(&fine().key("")).starts_with("key is empty"));
    assert!(refused(&fine().idempotency_key("x\n")).starts_with("idempotency_key holds a control"));
    assert!(refused(&fine().deal_id("d".repeat(65))).starts_with("header has 65 characters"));
    assert!(refused(&fine().header("tenant", "7")).contains("Table::column(\"headers.tenant\""));
    assert!(fine().traceparent("00-0-0-00").insert(&Table::outbox()).is_ok(), "the reference table has it");
    let broken = fine().json(&std::collections::HashMap::from([((1, 2), 3)]));
    assert!(refused(&broken).starts_with("payload cannot be converted to JSON"), "{}", refused(&broken));
}

#[test]
fn names_are_validated_and_fields_are_known() {
    for name in ["a\"b", "a`b", "a;b", "", "a.b.c", "a.", &"n".repeat(64)] {
        assert!(matches!(Table::outbox().named(name), Err(Error::Name { .. })), "{name}");
        assert!(matches!(Table::outbox().column("payload", name), Err(Error::Name { .. })), "{name}");
    }
    assert!(matches!(Table::outbox().cast("payload", "jsonb) --"), Err(Error::Name { .. })));
    assert!(matches!(Table::outbox().initial_status("it's"), Err(Error::Status { .. })));
    assert!(matches!(Table::outbox().column("payloda", "body"), Err(Error::Field { .. })));
    assert!(matches!(Table::mail_outbox().column("headers.x", "x"), Err(Error::Field { .. })));
    assert!(matches!(Table::outbox().without("priority"), Err(Error::Field { .. })));
}

#[cfg(feature = "postgres")]
#[test]
fn other_names_and_types_are_quoted_and_cast() {
    let table = Table::outbox()
        .named("shop.Event Log")
        .and_then(|table| table.column("payload", "select"))
        .and_then(|table| table.cast("payload", "jsonb"))
        .and_then(|table| table.without("version"))
        .and_then(|table| table.without("created"))
        .and_then(|table| table.initial_status("NEW"))
        .expect("all of it is fine");
    let record = Record::topic("orders").payload("{}").delay(Duration::from_secs(2));
    let insert = record.insert(&table).expect("it is fine");
    let statement = insert.render(Dialect::Postgres).expect("it renders").finish();
    assert_eq!(
        statement.sql,
        "INSERT INTO \"shop\".\"Event Log\" (\"status\", \"retry_count\", \"topic\", \"select\", \
         \"next_attempt_at\") VALUES ('NEW', 0, $1, CAST($2 AS jsonb), \
         (clock_timestamp() + $3 * interval '1 microsecond'))"
    );
}

#[cfg(feature = "sqlite")]
#[test]
fn times_out_of_range_are_refused() {
    let render = |record: Record| {
        let table = Table::outbox();
        let record = record.payload("{}");
        let insert = record.insert(&table).expect("it is fine so far");
        insert.render(Dialect::Sqlite).map(|insert| insert.finish().sql)
    };
    let day = Duration::from_hours(24);
    let before = SystemTime::UNIX_EPOCH - day;
    assert!(matches!(render(Record::topic("t").not_before(before)), Err(Error::Time)));
    assert!(matches!(render(Record::topic("t").delay(day * 5_000_000)), Err(Error::Time)));
    assert!(render(Record::topic("t").not_before(SystemTime::UNIX_EPOCH + day)).is_ok());
}

#[test]
fn debug_output_of_a_record_has_no_payload() {
    let shown = format!("{:?}", Record::topic("orders").payload("secret"));
    assert!(shown.contains("orders") && !shown.contains("secret"), "{shown}");
}
