//! Every line under "Ack/Nack and retry semantics" of the specification, with at least one case each, on the real
//! engine with a simulated clock (rules N2–N6, N13).

use std::time::Duration;

use postrider_seams::inspect::SelectedRows;
use postrider_seams::row::Detail;
use postrider_seams::{Failure, Inspect, Outcome, Receipt, Value};
use serde_json::json;

use crate::lane::{Reply, start, text};

struct Case {
    /// The line of the specification that the case proves.
    line: &'static str,
    row: Vec<(&'static str, Value)>,
    /// Overrides of the contract.
    over: &'static str,
    sender: Vec<Reply>,
    status: &'static str,
    attempts: i64,
    error: serde_json::Value,
    /// Seconds at which the sender is called.
    calls: Vec<u64>,
}

fn sent(id: &str) -> Reply {
    let detail = Detail::from([("provider".to_owned(), text("stub"))]);
    Reply::Says(Outcome::Delivered(Receipt { id: Some(id.to_owned()), detail }))
}

fn failure(code: &str, message: &str) -> Failure {
    let detail = Detail::from([("code".to_owned(), text(code)), ("provider".to_owned(), text("stub"))]);
    Failure { detail, ..Failure::new(message) }
}

fn retryable(message: &str) -> Reply {
    Reply::Says(Outcome::Retryable(failure("provider_error", message)))
}

fn failed(code: &str) -> Reply {
    Reply::Says(Outcome::Rejected(failure(code, "refused")))
}

fn receipt(id: &str) -> serde_json::Value {
    json!({ "provider": "stub", "providerMessageId": id, "status": "sent" })
}

fn error_json(code: &str, message: &str) -> serde_json::Value {
    json!({ "provider": "stub", "status": "failed", "code": code, "message": message })
}

/// A payload that requests a version of the template.
fn of_version(version: &str) -> Value {
    let payload = json!({
        "courseTitle": "A", "courseString": "B", "sectionNumber": "1", "meetingSummary": "Mon",
        "template": { "version": version },
    });
    text(&payload.to_string())
}

fn case(line: &'static str) -> Case {
    Case {
        line,
        row: Vec::new(),
        over: "",
        sender: Vec::new(),
        status: "sent",
        attempts: 1,
        error: receipt("m"),
        calls: vec![0],
    }
}

#[rustfmt::skip]
fn cases() -> Vec<Case> {
    let busy = || Reply::Says(Outcome::Retryable(Failure { after: Some(Duration::from_mins(1)), ..failure("rate_limited", "slow down") }));
    vec![
        Case { sender: vec![sent("m")], ..case("ack: sent, one attempt, the final attempt in error") },
        Case { sender: vec![retryable("1"), sent("m")], attempts: 2, calls: vec![0, 0], ..case("nack: stays pending, picked after schedule[0] = 0") },
        Case { sender: vec![retryable("1"), retryable("2"), sent("m")], attempts: 3, calls: vec![0, 0, 2], ..case("nack: schedule[attempts - 1] after the increment") },
        Case { sender: vec![busy(), sent("m")], attempts: 2, calls: vec![0, 60], ..case("nack: retryAfterSeconds is waited for") },
        Case { sender: vec![retryable("1"), sent("m")], over: "[retry]\ndelays = [\"10m\"]", attempts: 2, calls: vec![0, 120], ..case("nack: the schedule is capped by lockTtlSeconds") },
        Case { sender: vec![retryable("1"), sent("m")], over: "[retry]\ndelays = [\"10m\"]\n[lease]\nfor = \"30s\"", attempts: 2, calls: vec![0, 30], ..case("nack: the cap follows the lock TTL") },
        Case { sender: vec![failed("invalid_recipient")], status: "failed", error: error_json("invalid_recipient", "refused"), ..case("terminal: failed by the sender") },
        Case { row: vec![("subscription_status", text("unsubscribed"))], status: "skipped", error: json!({ "code": "unsubscribed", "message": "the subscriber has unsubscribed" }), calls: vec![], ..case("terminal: unsubscribed row") },
        Case { row: vec![("contact_type", text("sms"))], status: "skipped", error: json!({ "code": "unsupported_contact", "message": "the contact type is \"sms\", not \"email\"" }), calls: vec![], ..case("terminal: non-email contact") },
        Case { row: vec![("contact_value", text("ann"))], status: "skipped", error: json!({ "code": "invalid_recipient", "message": "\"ann\" is not an address: there is no @ with something on both sides of it" }), calls: vec![], ..case("terminal: invalid recipient") },
        Case { row: vec![("payload", of_version("v3"))], status: "failed", error: json!({ "status": "failed", "code": "template_missing_locale", "message": "template open-seat@v3 has neither the locale \"en-us\" nor the default en-us" }), calls: vec![], ..case("terminal: template missing locale") },
        Case { row: vec![("payload", of_version("v2"))], status: "failed", error: json!({ "status": "failed", "code": "template_variable_missing", "message": "template open-seat/v2/en-US/body.txt needs the variable professor, which the row does not have" }), calls: vec![], ..case("terminal: template missing variable") },
        Case { sender: vec![Reply::Says(Outcome::Skipped(failure("invalid_recipient", "no such mailbox")))], status: "skipped", error: json!({ "code": "invalid_recipient", "message": "no such mailbox" }), ..case("terminal: a recipient that the sender says is not there") },
        Case { row: vec![("payload", text("{\"version\":\"2.0\"}"))], status: "failed", error: json!({ "status": "failed", "code": "validation_error", "message": "version: \"2.0\" is not 1.x, which this worker reads" }), calls: vec![], ..case("terminal: ops must act") },
        Case { sender: vec![retryable("1"), retryable("2"), retryable("3")], status: "failed", attempts: 3, error: error_json("provider_error", "3"), calls: vec![0, 0, 2], ..case("dead letter: at maxAttempts, the last attempt preserved") },
        Case { row: vec![("fanout_attempts", Value::Int(2))], sender: vec![sent("m")], attempts: 3, ..case("dead letter: sent wins") },
        Case { row: vec![("fanout_attempts", Value::Int(2)), ("subscription_status", text("paused"))], status: "failed", attempts: 3, error: json!({ "status": "failed", "code": "subscription_inactive", "message": "the subscription is \"paused\", not \"active\"" }), calls: vec![], ..case("dead letter: any other result at the limit") },
        Case { row: vec![("fanout_attempts", Value::Int(3))], status: "failed", attempts: 3, error: json!({ "code": "failed", "message": "no attempts left" }), calls: vec![], ..case("dead letter: a pending row at the limit is not sent") },
        Case { row: vec![("fanout_attempts", Value::Int(3)), ("error", text("{\"code\":\"network_error\"}"))], status: "failed", attempts: 3, error: json!({ "code": "network_error" }), calls: vec![], ..case("dead letter: what is there is preserved") },
        Case { sender: vec![retryable("1")], over: "[attempts]\nmax = 1", status: "failed", error: error_json("provider_error", "1"), ..case("dead letter: maxAttempts is a setting") },
        Case { sender: vec![Reply::Says(Outcome::Uncertain(failure("network_error", "no answer"))), sent("m")], attempts: 2, calls: vec![0, 0], ..case("no answer is a completed try, and retryable") },
        Case { sender: vec![Reply::Throws, sent("m")], attempts: 2, calls: vec![0, 0], ..case("a sender that throws all the same is a retryable try") },
    ]
}

#[tokio::test(start_paused = true)]
async fn n02_to_n06_every_line_of_the_ack_and_nack_semantics() {
    for case in cases() {
        let line = case.line;
        let running = start(&case.row, case.over, case.sender);
        running.rest().await;
        // The last settle is written by now; any further call of the sender would fail the script.
        tokio::time::sleep(Duration::from_mins(5)).await;
        let row = running.row();
        assert_eq!(running.status(), case.status, "{line}: {row:?}");
        assert_eq!(row["fanout_attempts"], Value::Int(case.attempts), "{line}");
        assert_eq!(running.error(), case.error, "{line}");
        let lock = ["locked_by", "locked_at"].map(|column| row.get(column).cloned().unwrap_or_default());
        assert_eq!(lock, [Value::Null, Value::Null], "{line}: the lock is cleared");
        let swept = case.calls.is_empty() && case.attempts == 3 && case.error.get("status").is_none();
        assert_eq!(
            row.get("last_attempt_at").is_none_or(|at| *at == Value::Null),
            swept,
            "{line}: when it was tried"
        );
        let calls = running.calls();
        assert_eq!(calls.len(), case.calls.len(), "{line}: {calls:?}");
        for (found, wanted) in calls.iter().zip(&case.calls) {
            assert!(
                (*wanted..=wanted + 1).contains(found),
                "{line}: called at {calls:?}, not {:?}",
                case.calls
            );
        }
        let events: Vec<_> = running.table.effects();
        assert_eq!(events.len(), usize::from(case.status == "sent"), "{line}: one event for one sent row");
        for (table, event) in &events {
            assert_eq!(table, "subscription_events", "{line}");
            assert_eq!(
                (&event["event_type"], &event["section_status"]),
                (&text("notify_sent"), &text("Open"))
            );
        }
        running.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn n04_between_two_attempts_the_row_is_pending_unlocked_and_has_its_error() {
    let wait = Failure { after: Some(Duration::from_mins(1)), ..failure("rate_limited", "slow down") };
    let running = start(&[], "", vec![Reply::Says(Outcome::Retryable(wait)), sent("m")]);
    tokio::time::sleep(Duration::from_secs(30)).await;
    let row = running.row();
    assert_eq!((running.status().as_str(), &row["fanout_attempts"]), ("pending", &Value::Int(1)));
    assert_eq!((&row["locked_by"], &row["locked_at"]), (&Value::Null, &Value::Null));
    let expected = json!({
        "provider": "stub", "status": "retryable", "code": "rate_limited", "message": "slow down", "retryAfterSeconds": 60,
    });
    assert_eq!(running.error(), expected);
    running.rest().await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn n01_n13_the_lock_of_a_crashed_worker_runs_out_after_its_ttl_and_costs_nothing() {
    let running = start(&[("locked_by", text("gone"))], "", vec![sent("m")]);
    let locked = running.table.now();
    running.table.edit(&postrider_seams::RowId::Int(1), |row| {
        row.insert("locked_at".to_owned(), Value::Int(locked));
    });
    tokio::time::sleep(Duration::from_secs(119)).await;
    assert!(running.calls().is_empty(), "the lock still holds");
    running.rest().await;
    let calls = running.calls();
    assert!(calls.len() == 1 && (120..=135).contains(&calls[0]), "{calls:?}");
    assert_eq!(running.row()["fanout_attempts"], Value::Int(1), "the take-over itself is no attempt");
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn n08_every_send_of_a_row_has_the_same_key_for_the_provider() {
    let running = start(&[], "", vec![retryable("1"), Reply::Throws, sent("m")]);
    running.rest().await;
    let keys = running.script.keys.lock().unwrap().clone();
    assert_eq!(keys.len(), 3);
    assert_eq!(
        keys[0][0], "key:3",
        "the dedupe key, and the subscription: an event's subscribers share the key"
    );
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn n09_every_retryable_code_is_tried_again() {
    for code in ["rate_limited", "network_error", "provider_error", "unknown"] {
        let first = Reply::Says(Outcome::Retryable(failure(code, "not now")));
        let running = start(&[], "", vec![first, sent("m")]);
        running.rest().await;
        assert_eq!(
            (running.status().as_str(), &running.row()["fanout_attempts"]),
            ("sent", &Value::Int(2)),
            "{code}"
        );
        running.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn n06_an_operator_requeues_with_a_fresh_budget() {
    let running = start(&[], "", vec![failed("provider_error"), sent("again")]);
    running.rest().await;
    assert_eq!(running.status(), "failed");
    let moved =
        running.store.requeue(&SelectedRows::Ids(vec!["1".to_owned()])).await.expect("requeue succeeds");
    assert_eq!(moved, 1);
    let row = running.row();
    assert_eq!((running.status().as_str(), &row["fanout_attempts"]), ("pending", &Value::Int(0)));
    assert_eq!(row["error"], Value::Null);
    running.rest().await;
    assert_eq!((running.status().as_str(), running.error()), ("sent", receipt("again")));
    assert_eq!(running.row()["fanout_attempts"], Value::Int(1));
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn n11_a_snoozed_row_waits_free_and_is_sent_when_the_snooze_is_over() {
    // The table's clock starts at 2026-01-01T00:00:00Z.
    let snoozed = r#"{"preferences":{"snoozeUntil":"2026-01-01T01:00:00Z"}}"#;
    let running = start(&[("metadata", text(snoozed))], "", vec![sent("m")]);
    tokio::time::sleep(Duration::from_mins(59)).await;
    let row = running.row();
    assert_eq!((running.status().as_str(), &row["fanout_attempts"]), ("pending", &Value::Int(0)));
    running.rest().await;
    let calls = running.calls();
    assert!((3600..=3615).contains(&calls[0]), "{calls:?}");
    assert_eq!((running.row()["fanout_attempts"].clone(), running.error()), (Value::Int(1), receipt("m")));
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn n11_a_row_that_waits_too_long_expires() {
    let snoozed = r#"{"preferences":{"snoozeUntil":"2026-01-01T03:00:00Z"}}"#;
    let soon = "[sweep.expire]\nolder_than = \"2h\"";
    let running = start(&[("metadata", text(snoozed))], soon, Vec::new());
    running.rest().await;
    assert_eq!((running.status().as_str(), &running.row()["fanout_attempts"]), ("expired", &Value::Int(0)));
    assert_eq!(running.error()["code"], "expired");
    running.end().await;
}
