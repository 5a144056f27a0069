use postrider_seams::{Fields, Lease, RowId, Value};

use super::*;

fn row(changes: &[(&str, Value)]) -> ClaimedRow {
    let mut fields = vec![
        ("topic".to_owned(), text("deals")),
        ("key".to_owned(), text("deal-7")),
        ("payload".to_owned(), text("{\"a\": 1}")),
        ("dedupe".to_owned(), text("k-1")),
    ];
    for (name, value) in changes {
        fields.retain(|(known, _)| known != name);
        fields.push(((*name).to_owned(), value.clone()));
    }
    let (names, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
    ClaimedRow {
        lease: Lease { id: RowId::Int(42), fence: Box::default() },
        counters: postrider_contract::Counters { attempts: 2, max_attempts: None, schedule: None },
        from: None,
        group: None,
        pool: None,
        share: None,
        crashes: 0,
        since_crash: 0,
        waited_micros: 0,
        size: 100,
        fields: Some(Fields::new(names.into(), values)),
    }
}

fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

fn composed(changes: &[(&str, Value)]) -> Result<Envelope, String> {
    compose(&Settings::default(), &row(changes)).map_err(|reason| reason.to_string())
}

fn record(changes: &[(&str, Value)]) -> Record {
    let Content::Record(record) = composed(changes).unwrap().content else { panic!("no record") };
    record
}

fn header<'a>(record: &'a Record, name: &str) -> Option<&'a str> {
    record.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

#[test]
fn o09_a_record_has_topic_key_payload_and_headers() {
    let envelope = composed(&[("headers.deal_id", Value::Int(7))]).unwrap();
    assert_eq!((envelope.row.as_str(), envelope.dedupe.as_str(), envelope.attempt), ("42", "k-1", 3));
    let Content::Record(record) = envelope.content else { panic!("no record") };
    assert_eq!((record.topic.as_str(), record.key.as_deref()), ("deals", Some("deal-7")));
    assert_eq!(record.payload, "{\"a\": 1}");
    let expected = [("deal_id", "7"), ("id", "42"), ("idempotency-key", "k-1"), ("attempt", "3")];
    assert_eq!(record.headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn o09_payloads_go_to_the_byte() {
    let bytes = vec![0, 0xff, b'\r', b'\n', 0];
    assert_eq!(record(&[("payload", Value::Bytes(bytes.clone()))]).payload, bytes);
    assert_eq!(
        record(&[("payload", text("  {\"z\":1, \"a\":\u{e9}}\n\0"))]).payload,
        "  {\"z\":1, \"a\":\u{e9}}\n\0"
    );
    assert_eq!(record(&[("payload", text(""))]).payload, "");
    assert_eq!(record(&[("payload", Value::Int(5))]).payload, "5");
}

#[test]
fn o09_the_trace_comes_from_a_column_or_a_header() {
    assert_eq!(header(&record(&[]), "traceparent"), None);
    assert_eq!(header(&record(&[("traceparent", text("00-a-b-01"))]), "traceparent"), Some("00-a-b-01"));
    assert_eq!(header(&record(&[("headers.traceparent", text("00-c"))]), "traceparent"), Some("00-c"));
    let json = text("{\"traceparent\": \"00-d\", \"n\": 1.5, \"none\": null}");
    let record = record(&[("headers", json)]);
    assert_eq!(header(&record, "traceparent"), Some("00-d"));
    assert_eq!((header(&record, "n"), header(&record, "none")), (Some("1.5"), None));
}

#[test]
fn o09_a_row_cant_pretend_to_be_another() {
    let record =
        record(&[("headers", text("{\"ID\": \"1\", \"Idempotency-Key\": \"x\", \"attempt\": \"9\"}"))]);
    assert_eq!(record.headers.len(), 3);
    assert_eq!(header(&record, "id"), Some("42"));
    assert_eq!(header(&record, "idempotency-key"), Some("k-1"));
}

#[test]
fn o09_without_a_key_of_its_own_the_rows_id_is_the_dedupe() {
    for none in [Value::Null, text("")] {
        let envelope = composed(&[("dedupe", none.clone()), ("key", none)]).unwrap();
        assert_eq!(envelope.dedupe, "42");
        let Content::Record(record) = envelope.content else { panic!("no record") };
        assert_eq!(record.key, None);
    }
    assert_eq!(record(&[("key", Value::Int(-3))]).key.as_deref(), Some("-3"));
}

#[test]
fn invalid_rows_are_rejected_with_the_field_and_the_reason() {
    let long = "x".repeat(1024 * 1024 + 1);
    let cases = [
        ("topic", Value::Null, "topic: empty; every record needs one"),
        ("topic", text(""), "topic: empty; every record needs one"),
        ("topic", text("a b"), "topic: contains ' '; a topic must not contain blanks or control characters"),
        (
            "topic",
            text("a\nb"),
            "topic: contains '\\n'; a topic must not contain blanks or control characters",
        ),
        ("topic", text("a\0"), "topic: contains a NUL"),
        ("topic", text("t".repeat(1025)), "topic: 1025 bytes, more than the limit of 1024"),
        ("key", Value::Bytes(vec![b'a', 0xff]), "key: not valid UTF-8 (first wrong byte at 1)"),
        ("key", Value::Float(1.5), "key: neither text nor a whole number"),
        ("key", Value::Bool(true), "key: neither text nor a whole number"),
        ("key", text("a\0b"), "key: contains a NUL"),
        ("payload", Value::Null, "payload: empty; every record needs one"),
        ("payload", text(long), "payload: 1048577 bytes, more than the limit of 1048576"),
        ("headers", text("[1]"), "headers: must be a JSON object of texts, numbers and booleans"),
        ("headers", text("{\"a\": {}}"), "headers: must be a JSON object of texts, numbers and booleans"),
        (
            "headers",
            text("{\"a:b\": 1}"),
            "headers: a name must be 1 to 256 visible ASCII characters without a colon",
        ),
        ("headers", text("{\"a\": \"\\u0000\"}"), "headers.a: contains a NUL"),
    ];
    for (field, value, reason) in cases {
        assert_eq!(composed(&[(field, value)]).unwrap_err(), reason);
    }
}

#[tokio::test]
async fn an_invalid_row_does_not_stop_the_next_one() {
    let composer = RecordComposer::new(Settings::default());
    let composed = composer.compose(&[row(&[("topic", Value::Null)]), row(&[])]).await;
    assert!(matches!(composed[0], Err(Outcome::Rejected(_))), "{composed:?}");
    assert!(composed[1].is_ok(), "{composed:?}");
}

#[test]
fn o09_cloud_events_describe_the_record_in_headers() {
    let settings = Settings { cloud_events: Some(CloudEvents::new("/shop", "ce_")), ..Settings::default() };
    let Content::Record(record) =
        compose(&settings, &row(&[("time", text("2026-01-02T03:04:05Z"))])).unwrap().content
    else {
        panic!("no record")
    };
    let expected = [
        ("ce_specversion", "1.0"),
        ("ce_id", "k-1"),
        ("ce_source", "/shop"),
        ("ce_type", "deals"),
        ("ce_subject", "deal-7"),
        ("ce_time", "2026-01-02T03:04:05Z"),
        ("content-type", "application/json"),
    ];
    for (name, value) in expected {
        assert_eq!(header(&record, name), Some(value), "{name}");
    }
    assert_eq!(record.payload, "{\"a\": 1}");
    let binary = row(&[("payload", Value::Bytes(vec![1])), ("type", text("deal.made"))]);
    let Content::Record(record) = compose(&settings, &binary).unwrap().content else { panic!("no record") };
    assert_eq!(header(&record, "content-type"), Some("application/octet-stream"));
    assert_eq!(header(&record, "ce_type"), Some("deal.made"));
}
