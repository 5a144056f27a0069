use postrider_contract::Contract;

use super::*;
use crate::{Param, ShapeColumn};

fn contract() -> Contract {
    let text = Contract::builtin("mail_outbox").expect("mail_outbox is built in");
    Contract::parse("mail_outbox", text).expect("built-in contracts are sound")
}

/// The table as an application may have it: optional columns that are not listed are absent.
fn rendered(dialect: Dialect, id_type: &str, time_type: &str, fields: &[&str]) -> Script {
    let types = [
        ("id", id_type),
        ("status", "text"),
        ("retry_count", "integer"),
        ("next_attempt_at", time_type),
        ("last_attempt_at", time_type),
        ("last_error", "text"),
        ("created_at", time_type),
        ("to_addresses", "jsonb"),
        ("subject", "text"),
        ("idempotency_key", "varchar(100)"),
    ];
    let shape = Shape {
        columns: types.iter().map(|(name, sql_type)| ShapeColumn::new(*name, *sql_type)).collect(),
        ..Shape::default()
    };
    let names = types.iter().map(|(name, _)| (*name).to_owned()).collect();
    let contract = contract().resolve(&names).expect("the table has what the contract needs");
    produce(&contract, &contract.stages[0], dialect, &shape, fields).expect("it renders").script
}

fn field(name: &str) -> Param {
    Param::One(Field::Envelope(name.to_owned()))
}

#[test]
fn a_row_starts_ready_and_its_values_are_bound_in_their_columns_types() {
    let script = rendered(Dialect::Postgres, "bigint", "timestamp with time zone", &["to", "subject"]);
    let [step] = script.steps.as_slice() else { panic!("one step: {script:?}") };
    assert!(step.sql.starts_with(
        "INSERT INTO \"mail_outbox\" (\"created_at\", \"next_attempt_at\", \"retry_count\", \"status\", \"subject\", \"to_addresses\")"
    ), "{}", step.sql);
    assert!(step.sql.contains("'queued'"), "{}", step.sql);
    assert!(step.sql.contains("::text)::jsonb"), "{}", step.sql);
    assert!(step.sql.ends_with("RETURNING CAST(\"id\" AS text)"), "{}", step.sql);
    assert_eq!(step.params.len(), 2);
    assert!(step.params.contains(&field("to")) && step.params.contains(&field("subject")));
}

#[test]
fn a_repeated_key_writes_nothing_and_answers_the_first_row() {
    for (dialect, time, harmless) in [
        (Dialect::Postgres, "timestamp with time zone", "ON CONFLICT DO NOTHING"),
        (Dialect::Mysql, "datetime(6)", "ON DUPLICATE KEY UPDATE `id` = `id`"),
        (Dialect::Sqlite, "TEXT", "ON CONFLICT DO NOTHING"),
    ] {
        let script = rendered(dialect, "bigint", time, &["to", "subject", "dedupe"]);
        let [insert, select] = script.steps.as_slice() else { panic!("two steps: {script:?}") };
        assert!(insert.sql.ends_with(harmless), "{}", insert.sql);
        assert!(select.sql.contains("idempotency_key"), "{}", select.sql);
        assert_eq!(select.params, [field("dedupe")]);
    }
}

#[test]
fn a_key_that_no_database_makes_comes_from_the_caller() {
    let script = rendered(Dialect::Mysql, "char(36)", "datetime(6)", &["to", "subject"]);
    assert!(script.steps[0].params.contains(&field(KEY)));
    assert_eq!(script.steps[1].params, [field(KEY)]);
    let script = rendered(Dialect::Mysql, "bigint", "datetime(6)", &["to", "subject"]);
    assert!(script.steps[1].sql.ends_with("= LAST_INSERT_ID()"), "{}", script.steps[1].sql);
}

#[test]
fn a_field_that_the_table_lacks_is_an_error() {
    let contract = contract();
    let shape = Shape::default();
    assert!(produce(&contract, &contract.stages[0], Dialect::Sqlite, &shape, &["to"]).is_err());
}

#[test]
fn g05_a_time_is_inserted_in_the_form_that_the_table_has() {
    let script = rendered(Dialect::Sqlite, "INTEGER", "TEXT", &["to", "subject"]);
    let sql = &script.steps[0].sql;
    assert!(sql.contains("(SELECT \"next_attempt_at\" FROM \"mail_outbox\" LIMIT 1)"), "{sql}");
    assert!(!sql.contains("t.\""), "there is no row yet: {sql}");
}
