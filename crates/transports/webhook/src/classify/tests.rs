use bytes::Bytes;
use postrider_http::{HeaderMap, Target, Version};
use postrider_seams::Value;

use super::*;

const CONTEXT: AttemptContext = AttemptContext {
    took: Duration::from_millis(12),
    signed: true,
    may_postpone: true,
    longest_retry_after: Some(Duration::from_hours(1)),
    now: 0,
};

fn answered(status: u16, retry_after: Option<&str>, body: &str) -> (Outcome, HostHealth) {
    let mut headers = HeaderMap::new();
    headers.extend(retry_after.map(|text| ("retry-after".parse().ok(), text.parse().unwrap())));
    let body = Bytes::copy_from_slice(body.as_bytes());
    response(&HttpResponse { status, version: Version::HTTP_11, headers, body, truncated: false }, CONTEXT)
}

fn recorded(outcome: &Outcome) -> (String, Option<String>) {
    let detail = match outcome {
        Outcome::Delivered(receipt) => &receipt.detail,
        other => &other.failure().unwrap().detail,
    };
    let text = |name: &str| detail.get(name).and_then(|value| value.as_text().map(str::to_owned));
    (text("result").unwrap(), text("class"))
}

fn kind(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Delivered(_) => "delivered",
        Outcome::Retryable(_) => "retryable",
        Outcome::Rejected(_) => "rejected",
        Outcome::Uncertain(_) => "uncertain",
        Outcome::Deferred(_) => "deferred",
        _ => "other",
    }
}

#[test]
fn j05_the_status_names_the_class_and_the_type_decides() {
    let expected = [
        (200, "delivered", "SUCCESS", None),
        (204, "delivered", "SUCCESS", None),
        (299, "delivered", "SUCCESS", None),
        (301, "rejected", "CLIENT_ERROR", Some("PERMANENT")),
        (307, "rejected", "CLIENT_ERROR", Some("PERMANENT")),
        (400, "rejected", "CLIENT_ERROR", Some("PERMANENT")),
        (401, "rejected", "CLIENT_ERROR", Some("PERMANENT")),
        (404, "rejected", "CLIENT_ERROR", Some("PERMANENT")),
        (408, "retryable", "CLIENT_ERROR", Some("TRANSIENT")),
        (410, "rejected", "CLIENT_ERROR", Some("PERMANENT")),
        (425, "retryable", "CLIENT_ERROR", Some("TRANSIENT")),
        (429, "retryable", "CLIENT_ERROR", Some("TRANSIENT")),
        (500, "retryable", "SERVER_ERROR", Some("TRANSIENT")),
        (503, "retryable", "SERVER_ERROR", Some("TRANSIENT")),
        (599, "retryable", "SERVER_ERROR", Some("TRANSIENT")),
        (600, "retryable", "SERVER_ERROR", Some("UNKNOWN")),
        (999, "retryable", "SERVER_ERROR", Some("UNKNOWN")),
    ];
    for (status, expected, class, error) in expected {
        let (outcome, _) = answered(status, None, "");
        assert_eq!(kind(&outcome), expected, "{status}");
        assert_eq!(recorded(&outcome), (class.to_owned(), error.map(str::to_owned)), "{status}");
    }
}

#[test]
fn j05_retry_after_counts_for_429_and_503() {
    for status in [429, 503] {
        let (outcome, health) = answered(status, Some("90"), "");
        assert_eq!(outcome.failure().unwrap().after, Some(Duration::from_secs(90)));
        assert_eq!(health, HostHealth::Hold(Duration::from_secs(90)));
    }
    let (outcome, health) = answered(500, Some("90"), "");
    assert_eq!((outcome.failure().unwrap().after, health), (None, HostHealth::Failing));
    let (outcome, health) = answered(429, None, "");
    assert_eq!((outcome.failure().unwrap().after, health), (None, HostHealth::Healthy));
    assert_eq!(answered(429, Some("999999"), "").0.failure().unwrap().after, Some(Duration::from_hours(1)));
}

#[test]
fn j05_gone_differs_from_other_refusals() {
    assert_eq!(answered(410, None, "").1, HostHealth::Gone);
    assert_eq!(answered(404, None, "").1, HostHealth::Healthy);
}

#[test]
fn j05_a_receiver_may_postpone_where_it_was_agreed() {
    let (outcome, health) = answered(200, None, r#"{"ack":false,"delaySeconds":90}"#);
    assert_eq!(
        (kind(&outcome), outcome.failure().unwrap().after),
        ("deferred", Some(Duration::from_secs(90))),
        "it costs no attempt"
    );
    assert_eq!(
        (recorded(&outcome), health),
        (("SUCCESS".to_owned(), Some("TRANSIENT".to_owned())), HostHealth::Healthy)
    );
    for (body, after) in [
        (r#"{"ack":false}"#, 30),
        (r#"{"ack":false,"delaySeconds":-5}"#, 1),
        (r#"{"ack":false,"delaySeconds":1e99}"#, 86_400),
    ] {
        let (outcome, _) = answered(200, None, body);
        assert_eq!(outcome.failure().unwrap().after, Some(Duration::from_secs(after)), "{body}");
    }
    for body in
        ["", "ok", "[]", r#"{"ack":true,"delaySeconds":9}"#, r#"{"ack":"false"}"#, r#"{"delaySeconds":9}"#]
    {
        assert_eq!(kind(&answered(200, None, body).0), "delivered", "{body}");
    }
    let body = Bytes::from_static(br#"{"ack":false}"#);
    let whole = HttpResponse {
        status: 200,
        version: Version::HTTP_11,
        headers: HeaderMap::new(),
        body,
        truncated: false,
    };
    let context = AttemptContext { may_postpone: false, ..CONTEXT };
    assert_eq!(kind(&response(&whole, context).0), "delivered", "nobody agreed to it");
}

#[test]
fn j01_the_attempt_is_on_record() {
    let (outcome, _) = answered(500, None, "out of cheese");
    let detail = &outcome.failure().unwrap().detail;
    assert_eq!(detail["status"], Value::Int(500));
    assert_eq!(detail["body"], Value::Text("out of cheese".to_owned()));
    assert_eq!((&detail["duration_ms"], &detail["signed"]), (&Value::Int(12), &Value::Bool(true)));
}

#[test]
fn j05_an_undiallable_target_is_permanent() {
    let wrong = Target::parse("nonsense").unwrap_err();
    let (outcome, health) = error(&wrong, CONTEXT);
    assert_eq!((kind(&outcome), health), ("rejected", HostHealth::Unknown));
    assert_eq!(recorded(&outcome), ("CONNECTION_ERROR".to_owned(), Some("PERMANENT".to_owned())));
}

#[test]
fn g01_a_request_that_was_not_tried_costs_no_attempt() {
    let of = |error_kind| {
        let wrong =
            Error { kind: error_kind, message: "no".into(), causes: Vec::new(), sent: false, status: None };
        let (outcome, health) = error(&wrong, CONTEXT);
        let after = outcome.failure().and_then(|failure| failure.after);
        (kind(&outcome), after.is_some_and(|after| after >= Duration::from_secs(1)), health)
    };
    for fault in [ErrorKind::Busy, ErrorKind::TooManyLookups, ErrorKind::Exhausted] {
        assert_eq!(of(fault), ("deferred", true, HostHealth::Unknown), "{fault:?}");
    }
    assert_eq!(of(ErrorKind::DnsTimeout), ("deferred", true, HostHealth::Failing));
    assert_eq!(of(ErrorKind::Dns), ("retryable", false, HostHealth::Failing));
    assert_eq!(of(ErrorKind::Connect), ("retryable", false, HostHealth::Failing));
}
