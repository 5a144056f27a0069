//! Drafts of tables that nobody knows, by names, types and values.

use postrider_composers::message;
use postrider_contract::Contract;
use postrider_draft::{Answers, Draft, Purpose, draft};
use postrider_seams::TableDescription;
use postrider_seams::table::{DatabaseKind, SampledValue};

use crate::ddl::described;

/// The draft, which must be a valid contract.
#[track_caller]
fn valid(table: &TableDescription, purpose: Option<Purpose>) -> (Draft, Contract) {
    let made = draft(table, purpose, &Answers::new());
    assert_eq!(made.layout, None);
    let contract =
        Contract::parse("draft", &made.text).unwrap_or_else(|mistakes| panic!("{mistakes}\n{}", made.text));
    assert_eq!(message::verify(&contract, "draft"), [], "{}", made.text);
    (made, contract)
}

/// A value, its rows, and in how many of them other columns are filled.
type Sampled<'a> = (&'a str, u64, &'a [(&'a str, u64)]);

fn sampled(table: &mut TableDescription, column: &str, values: &[Sampled<'_>]) {
    let names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
    let value = |(value, rows, filled): &Sampled<'_>| SampledValue {
        value: Some((*value).to_owned()),
        rows: *rows,
        filled: names
            .iter()
            .map(|name| filled.iter().find(|(filled, _)| filled == name).map_or(0, |(_, rows)| *rows))
            .collect(),
    };
    let values: Vec<SampledValue> = values.iter().map(value).collect();
    table.rows = values.iter().map(|value| value.rows).sum();
    let column = table.columns.iter_mut().find(|known| known.name == column).expect("the column");
    column.filled = table.rows;
    column.values = Some(values);
}

const EVENTS: &str = "CREATE TABLE events (
  id            uuid PRIMARY KEY,
  event_type    text NOT NULL,
  aggregate_id  text NOT NULL,
  payload       jsonb NOT NULL,
  state         text NOT NULL,
  tries         integer,
  next_retry_at timestamptz,
  locked_at     timestamptz,
  locked_by     text,
  last_error    text,
  created_at    timestamptz NOT NULL,
  published_at  timestamptz
);";

#[test]
fn states_are_read_from_the_data() {
    let mut table = described(DatabaseKind::Postgres, EVENTS);
    sampled(
        &mut table,
        "state",
        &[
            ("published", 900, &[("published_at", 900)]),
            ("new", 90, &[]),
            ("sending", 3, &[]),
            ("dead", 2, &[("last_error", 2)]),
            ("cancelled", 5, &[]),
        ],
    );
    let (made, contract) = valid(&table, None);
    assert_eq!(made.questions, [], "{}", made.text);
    for line in [
        "composer = \"record\"",
        "ready     = \"new\"",
        "claimed   = \"sending\"",
        "delivered = \"published\"",
        "dead      = \"dead\"",
        "topic   = \"event_type\"",
        "key     = \"aggregate_id\"",
        "nullable = true",
        "# Left alone: cancelled (5 of the sampled rows)",
        "null = \"now\"",
    ] {
        assert!(made.text.contains(line), "{line}\n{}", made.text);
    }
    assert_eq!(contract.group.as_ref().map(|group| group.by.as_str()), Some("aggregate_id"));
}

#[test]
fn numbers_are_understood_by_what_their_rows_hold() {
    let script = EVENTS.replace("state         text", "state         smallint");
    let mut table = described(DatabaseKind::Postgres, &script);
    sampled(
        &mut table,
        "state",
        &[("3", 900, &[("published_at", 900)]), ("0", 90, &[]), ("7", 2, &[("last_error", 2)])],
    );
    let (made, _) = valid(&table, None);
    assert_eq!(made.questions, [], "{}", made.text);
    for line in ["queued = 0", "taken  = 5", "done   = 3", "failed = 7"] {
        assert!(made.text.contains(line), "{line}\n{}", made.text);
    }
}

#[test]
fn what_the_table_does_not_say_is_asked() {
    let script = EVENTS.replace("state         text", "state         smallint");
    let table = described(DatabaseKind::Postgres, &script);
    let (made, _) = valid(&table, None);
    let asked: Vec<&str> = made.questions.iter().map(|question| question.key).collect();
    assert_eq!(asked, ["ready", "delivered", "dead"]);
    assert!(made.text.starts_with("# A draft for the table events"), "{}", made.text);
    assert!(made.text.contains("# QUESTION 1: which value of state has rows that wait"), "{}", made.text);
    let answers = Answers::from([
        ("ready", "10".to_owned()),
        ("delivered", "30".to_owned()),
        ("dead", "99".to_owned()),
    ]);
    let answered = draft(&table, None, &answers);
    assert_eq!(answered.questions, []);
    for line in ["queued = 10", "done   = 30", "failed = 99"] {
        assert!(answered.text.contains(line), "{line}\n{}", answered.text);
    }
}

#[test]
fn an_enumerated_type_limits_the_states() {
    let mut table = described(DatabaseKind::Mysql, EVENTS);
    let state = table.columns.iter_mut().find(|column| column.name == "state").expect("state");
    state.sql_type = "enum('PENDING','DONE','FAILED')".to_owned();
    state.labels = ["PENDING", "DONE", "FAILED"].map(str::to_owned).into();
    table.columns.retain(|column| !column.name.starts_with("locked"));
    let (made, _) = valid(&table, None);
    assert!(made.text.contains("claimed   = \"same\""), "no value means claimed:\n{}", made.text);
    assert!(made.text.contains("by    = \"due\""), "{}", made.text);
}

#[test]
fn flags_and_times_are_states() {
    let script = "CREATE TABLE mails (
  id           bigint PRIMARY KEY,
  recipient    varchar(200) NOT NULL,
  subject      varchar(200) NOT NULL,
  body         text NOT NULL,
  attempts     integer NOT NULL DEFAULT 0,
  failed       boolean NOT NULL DEFAULT false,
  send_after   timestamp,
  locked_at    timestamp,
  sent_at      timestamp,
  error        text
);";
    let (made, contract) = valid(&described(DatabaseKind::Postgres, script), None);
    assert_eq!(made.questions, [], "{}", made.text);
    assert_eq!(contract.stages[0].composer, "email");
    let line = "queued = { sent_at = { null = true }, failed = false, locked_at = { null = true } }";
    assert!(made.text.contains(line), "{}", made.text);
}

#[test]
fn times_as_numbers_and_a_webhook() {
    let script = "CREATE TABLE hooks (
  hook_id         bigint PRIMARY KEY,
  target_url      text NOT NULL,
  body            text,
  status          varchar(20) NOT NULL,
  retries         integer NOT NULL,
  next_attempt_at bigint NOT NULL,
  started_at      bigint
);";
    let mut table = described(DatabaseKind::Postgres, script);
    for name in ["next_attempt_at", "started_at"] {
        let column = table.columns.iter_mut().find(|column| column.name == name).expect("a time");
        column.example = Some("1790000000".to_owned());
    }
    let (made, contract) = valid(&table, None);
    assert!(made.text.contains("time = \"epoch_s\""), "{}", made.text);
    assert_eq!(contract.stages[0].composer, "webhook");
    assert_eq!(contract.table.id, "hook_id");
}

#[test]
fn a_purpose_wins_over_the_guess() {
    let table = described(DatabaseKind::Postgres, EVENTS);
    let made = draft(&table, Some(Purpose::Mail), &Answers::new());
    let asked: Vec<&str> = made.questions.iter().map(|question| question.key).collect();
    assert!(asked.contains(&"message.to"), "{asked:?}\n{}", made.text);
    let answers =
        Answers::from([("message.to", "last_error".to_owned()), ("message.text", "payload".to_owned())]);
    let made = draft(&table, Some(Purpose::Mail), &answers);
    assert!(made.text.contains("to   = \"last_error\""), "{}", made.text);
}

#[test]
fn a_table_without_a_state_or_attempts_says_so() {
    let script = "CREATE TABLE outbox (
  id            uuid PRIMARY KEY,
  aggregatetype varchar(255) NOT NULL,
  aggregateid   varchar(255) NOT NULL,
  type          varchar(255) NOT NULL,
  payload       jsonb
);";
    let made = draft(&described(DatabaseKind::Postgres, script), None, &Answers::new());
    let asked: Vec<&str> = made.questions.iter().map(|question| question.key).collect();
    assert_eq!(asked, ["status", "columns.attempts", "columns.claimed_at"], "{}", made.text);
    Contract::parse("draft", &made.text).unwrap_or_else(|mistakes| panic!("{mistakes}\n{}", made.text));
}

#[test]
fn a_key_of_several_columns_is_asked_about() {
    let mut table = described(DatabaseKind::Postgres, &EVENTS.replace(" PRIMARY KEY", " NOT NULL"));
    table.unique = vec![vec!["id".to_owned(), "created_at".to_owned()]];
    let made = draft(&table, None, &Answers::new());
    let question = made.questions.iter().find(|question| question.key == "id").expect("it is asked");
    assert!(question.text.contains("id, created_at"), "{}", question.text);
    let answered = draft(&table, None, &Answers::from([("id", "aggregate_id".to_owned())]));
    assert!(answered.text.contains("id   = \"aggregate_id\""), "{}", answered.text);
}
