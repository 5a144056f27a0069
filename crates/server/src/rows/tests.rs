use std::collections::BTreeMap;

use bytes::Bytes;
use postrider_contract::ColumnRole;
use postrider_engine::Health;
use postrider_seams::inspect::{HistoryEntry, PoolStanding, RowPosition, RowView};
use postrider_seams::{Content, Envelope, Mail, Secret, Webhook};

use super::*;

fn contract(name: &str) -> Contract {
    let text = Contract::builtin(name).expect("a contract of ours");
    Contract::parse(name, text).expect("it parses")
}

fn row(state: &str, columns: &[(&str, &str)]) -> RowView {
    RowView {
        id: "7".to_owned(),
        state: Some(state.to_owned()),
        columns: columns
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())))
            .collect(),
        times: BTreeMap::new(),
        due_in: None,
        read_at: 1_000_000_000,
    }
}

fn why(row: &RowView, health: &Health, standing: &RowPosition) -> Option<String> {
    let contract = contract("dispatch_jobs");
    let stage = &contract.stages[0];
    let context = WaitContext { contract: &contract, stage, health, standing, hold: None };
    waiting(row, &context).map(|waiting| waiting.text)
}

#[test]
fn the_reason_for_waiting_is_a_sentence() {
    let none = RowPosition::default();
    let mut later = row("RETRYING", &[("last_error", "breaker open for shop.example")]);
    later.due_in = Some(240_000_000);
    let said = why(&later, &Health::Running, &none);
    assert_eq!(said.as_deref(), Some("Due in 4 min: breaker open for shop.example"));
    let mut paused = row("RETRYING", &[("last_error", "subscription hooli-all is paused")]);
    paused.due_in = Some(24_000_000);
    let said = why(&paused, &Health::Running, &none);
    assert_eq!(
        said.as_deref(),
        Some("Subscription hooli-all is paused. Nothing is sent until you resume it.")
    );
    let ready = row("QUEUED", &[("group_key", "acme:orders")]);
    let behind = RowPosition { behind: Some("0S8885VV38M00".to_owned()), ..RowPosition::default() };
    let said = why(&ready, &Health::Running, &behind);
    assert_eq!(said.as_deref(), Some("Waits behind 0S8885VV38M00 in acme:orders"));
    let pool = |paused, in_flight| RowPosition {
        pool: Some(PoolStanding {
            name: "p".to_owned(),
            paused,
            concurrency: Some(2),
            in_flight,
            rate: Some(600),
        }),
        ..RowPosition::default()
    };
    assert_eq!(why(&ready, &Health::Running, &pool(true, 0)).as_deref(), Some("Its pool p is paused"));
    assert_eq!(
        why(&ready, &Health::Running, &pool(false, 2)).as_deref(),
        Some("Its pool p is full: 2 of 2 in flight")
    );
    let turn = why(&ready, &Health::Running, &pool(false, 0)).expect("a reason");
    assert!(turn.contains("600 rows per minute"), "{turn}");
    assert_eq!(why(&ready, &Health::Paused, &none).as_deref(), Some("The lane is paused"));
    let away = Health::Unreachable { reason: "refused".to_owned() };
    assert!(why(&ready, &away, &none).is_some_and(|text| text.contains("refused")));
    let mut claimed = row("IN_PROGRESS", &[("claimed_by", "w1")]);
    claimed.times.insert(ColumnRole::LeaseUntil, claimed.read_at + 30_000_000);
    let said = why(&claimed, &Health::Running, &none);
    assert_eq!(said.as_deref(), Some("In flight, claimed by w1: its lease ends in 30 s"));
    assert_eq!(why(&row("COMPLETED", &[]), &Health::Running, &none), None);
    let mut strange = row("QUEUED", &[("status", "ON_FIRE")]);
    strange.state = None;
    assert!(why(&strange, &Health::Running, &none).is_some_and(|text| text.contains("no state")));
}

/// A state that only a maintenance sweep ends: the row has the time, in its database's format.
#[test]
fn a_scheduled_row_shows_when_it_becomes_ready() {
    let none = RowPosition::default();
    for at in ["1970-01-01 01:16:40+00", "1970-01-01 01:16:40.000000", "1970-01-01T01:16:40.000Z", "4600000"]
    {
        let later = row("PENDING", &[("scheduled_for", at)]);
        assert_eq!(why(&later, &Health::Running, &none).as_deref(), Some("Due in 60 min"), "{at}");
    }
    let now = row("PENDING", &[]);
    let said = why(&now, &Health::Running, &none);
    assert_eq!(said.as_deref(), Some("Due now: the next sweep moves it to QUEUED"));
    let away = Health::QueueUnavailable { reason: "refused".to_owned() };
    assert!(why(&now, &away, &none).is_some_and(|text| text.contains("queue")));
}

#[test]
fn a_claimed_row_is_not_due() {
    let contract = contract("mail_outbox");
    for (state, due) in [("queued", Some(-5.0)), ("dispatching", None), ("sent", None)] {
        let mut row = row(state, &[]);
        row.due_in = Some(-5_000_000);
        assert_eq!(item(&contract, &row).due_in_seconds, due, "{state}");
    }
}

#[test]
fn an_open_circuit_breaker_is_shown_with_its_end() {
    use postrider_seams::transport::{HoldReason, TargetHold};
    let contract = contract("dispatch_jobs");
    let hold = |why| TargetHold {
        target: "https://shop.example".to_owned(),
        why,
        left: std::time::Duration::from_secs(40),
    };
    let waiting_text = |row: &RowView, hold: &TargetHold| {
        let (stage, standing) = (&contract.stages[0], RowPosition::default());
        let health = &Health::Running;
        let context =
            WaitContext { contract: &contract, stage, health, standing: &standing, hold: Some(hold) };
        waiting(row, &context).expect("it waits")
    };
    let mut row = row("RETRYING", &[("last_error", "503")]);
    let open = waiting_text(&row, &hold(HoldReason::Breaker));
    assert!(open.text.starts_with("Circuit breaker open for https://shop.example after"), "{open:?}");
    assert!(open.text.ends_with("another 40 s"), "{open:?}");
    assert_eq!(open.until, Some(postrider_hub::Moment::from_micros(row.read_at + 40_000_000)));
    row.due_in = Some(240_000_000);
    let both = waiting_text(&row, &hold(HoldReason::RetryAfter));
    assert_eq!(
        both.text,
        "Due in 4 min; https://shop.example asked for a pause (Retry-After); nothing is sent for another 40 s"
    );
    assert_eq!(both.until, Some(postrider_hub::Moment::from_micros(row.read_at + 240_000_000)));
}

#[test]
fn states_have_a_role() {
    let roles = |name: &str, states: &[&str]| -> Vec<&'static str> {
        let contract = contract(name);
        states.iter().map(|state| role_of(&contract, contract.state_named(state).expect("a state"))).collect()
    };
    let states = ["QUEUED", "IN_PROGRESS", "COMPLETED", "DEAD", "CANCELLED", "PENDING"];
    assert_eq!(
        roles("dispatch_jobs", &states),
        ["ready", "claimed", "delivered", "failed", "ended", "waiting"]
    );
    assert_eq!(
        roles("mail_outbox", &["queued", "dispatching", "sent", "failed"]),
        ["ready", "claimed", "delivered", "failed"]
    );
}

#[test]
fn secrets_are_masked() {
    let contract = contract("dispatch_jobs");
    let row = row(
        "QUEUED",
        &[("headers", r#"{"Authorization":"Bearer abc","X-Shop":"1","X-Api-Key":"abc"}"#), ("payload", "{}")],
    );
    let shown = columns(&contract, &row);
    let headers = shown[0].value.as_deref().expect("headers");
    assert!(
        !headers.contains("abc") && headers.contains("X-Shop") && headers.contains(columns::MASK),
        "{headers}"
    );
    assert_eq!(shown[1].value.as_deref(), Some("{}"));
}

#[test]
fn a_json_error_is_shown_by_its_message() {
    assert_eq!(error_text(r#"{"code":"x","message":"550 no"}"#).as_deref(), Some("550 no"));
    assert_eq!(error_text(r#"{"provider":"ses","status":"sent"}"#), None);
    assert_eq!(error_text(" 503 busy ").as_deref(), Some("503 busy"));
    assert_eq!(error_text("{broken").as_deref(), Some("{broken"));
    assert_eq!(error_text(""), None);
}

fn attempt_record(number: &str, at: i64, columns: &[(&str, &str)]) -> HistoryEntry {
    let mut columns = columns.to_vec();
    columns.extend([("id", "0HZ"), ("attempt_number", number), ("error_type", "TRANSIENT")]);
    let columns = columns.into_iter().map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
    HistoryEntry { table: "dispatch_attempts".to_owned(), at: Some(at), columns: columns.collect() }
}

#[test]
fn attempts_are_described_in_order() {
    let contract = contract("dispatch_jobs");
    let mut row = row("RETRYING", &[("target_url", "https://shop.example/hook?token=t0p")]);
    row.times.insert(ColumnRole::Created, 1_000_000);
    row.times.insert(ColumnRole::ClaimedAt, 31_000_000);
    row.due_in = Some(240_000_000);
    let busy = [
        ("status", "SERVER_ERROR"),
        ("response_code", "503"),
        ("duration_millis", "120"),
        ("response_body", "come back later"),
        ("error_message", "answered 503"),
    ];
    let lost = [("status", "CONNECTION_ERROR"), ("error_message", "worker lost")];
    let history = [attempt_record("1", 2_000_000, &busy), attempt_record("2", 32_120_000, &lost)];
    let entries = timeline(&contract, &row, &history);
    let whats: Vec<&str> = entries.iter().map(|entry| entry.what.as_str()).collect();
    assert_eq!(
        whats,
        [
            "Written",
            "Attempt 1: 503 Service Unavailable from shop.example",
            "Attempt 2: it is not known whether it arrived",
            "Next attempt",
        ]
    );
    assert_eq!(entries[1].detail.as_deref(), Some("120 ms · answered 503 · retried 30 s later"));
    assert_eq!((entries[1].tone, entries[1].body.as_deref()), ("bad", Some("come back later")));
    assert_eq!(
        entries[1].facts,
        [NameValue { name: "error_type".to_owned(), value: Some("TRANSIENT".to_owned()) }]
    );
    assert_eq!(entries[2].detail.as_deref(), Some("worker lost · next attempt in 4 min"));
    assert_eq!(entries[3].at, Some(postrider_hub::Moment::from_micros(row.read_at + 240_000_000)));
    row.state = Some("DEAD".to_owned());
    row.due_in = None;
    let entries = timeline(&contract, &row, &history);
    assert_eq!(entries.last().and_then(|last| last.detail.as_deref()), Some("worker lost · not retried"));
}

#[test]
fn a_row_without_history_uses_its_columns() {
    let contract = contract("mail_outbox");
    let mut failed = row("failed", &[("retry_count", "5"), ("last_error", "550 no such mailbox")]);
    failed.times.insert(ColumnRole::Created, 1_000_000);
    failed.times.insert(ColumnRole::ClaimedAt, 2_000_000);
    let entries = timeline(&contract, &failed, &[]);
    assert_eq!((entries[1].what.as_str(), entries[1].tone), ("Last attempt failed", "bad"));
    assert_eq!(entries[1].detail.as_deref(), Some("550 no such mailbox · 5 attempts so far"));
    let mut sent = row("sent", &[("retry_count", "0"), ("provider_message_id", "m-17")]);
    sent.times = failed.times;
    sent.times.insert(ColumnRole::Finished, 3_000_000);
    let entries = timeline(&contract, &sent, &[]);
    assert_eq!((entries.len(), entries[1].what.as_str(), entries[1].tone), (2, "Delivered", "good"));
    assert_eq!(entries[1].detail.as_deref(), Some("receipt m-17"));
}

fn envelope(content: Content) -> Envelope {
    Envelope {
        row: "7".to_owned(),
        dedupe: "d".to_owned(),
        attempt: 1,
        lease: postrider_seams::LeaseCheck::default(),
        content,
        detail: BTreeMap::new(),
    }
}

#[test]
fn a_request_is_shown_without_secrets() {
    let webhook = Webhook {
        url: "https://example.com/hook".to_owned(),
        headers: vec![("X-Token".to_owned(), "t0p".to_owned()), ("X-Shop".to_owned(), "1".to_owned())],
        content_type: "application/json".to_owned(),
        body: Bytes::from_static(b"{}"),
        timeout: None,
        authorization: Some(Secret::new("Bearer s3cret".to_owned())),
        signing: vec![Secret::new("whsec_abc".to_owned())],
        may_postpone: false,
        follows_retry_after: true,
        subscription: None,
        client: None,
        clock_offset: 0,
        allowed_hosts: None,
        recheck: None,
    };
    let shown = message(Ok(envelope(Content::Webhook(Box::new(webhook)))));
    let json = serde_json::to_string(&shown).expect("JSON");
    for secret in ["s3cret", "whsec_abc", "t0p"] {
        assert!(!json.contains(secret), "{json}");
    }
    assert!(json.contains("https://example.com/hook") && shown.kind == "http");
}

#[test]
fn a_mail_is_shown_with_its_headers_text_and_html() {
    let text = "From: a@example.com\r\nTo: b@example.com\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\
                Content-Type: multipart/alternative; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\nHallo\r\n\
                --x\r\nContent-Type: text/html\r\n\r\n<b>Hallo</b><script>x</script>\r\n--x--\r\n";
    let mail = Mail {
        from: String::new(),
        to: vec!["b@example.com".to_owned()],
        message: Bytes::from_static(text.as_bytes()),
        rest: None,
        message_id: "m@x".to_owned(),
        utf8: false,
        settled: Vec::new(),
        metadata: Vec::new(),
    };
    assert!(html_of(&mail).contains("<b>Hallo</b>"));
    let shown = message(Ok(envelope(Content::Mail(mail))));
    assert_eq!((shown.subject.as_deref(), shown.html), (Some("Grüße"), true));
    assert_eq!(shown.text.as_deref().map(str::trim), Some("Hallo"));
    assert!(shown.headers.iter().any(|header| header.name == "To"));
    let none = message(Err("rejected: no recipient".to_owned()));
    assert_eq!((none.kind, none.problem.as_deref()), ("none", Some("rejected: no recipient")));
}
