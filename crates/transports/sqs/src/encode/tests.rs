use postrider_seams::Content;
use postrider_seams::row::Detail;

use super::*;

fn entry(
    topic: &str,
    key: Option<&str>,
    payload: &[u8],
    headers: &[(&str, &str)],
    dedupe: &str,
) -> Result<BatchEntry, Outcome> {
    let record = Record {
        topic: topic.to_owned(),
        key: key.map(str::to_owned),
        payload: payload.to_vec().into(),
        headers: headers.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
    };
    let envelope = Envelope {
        row: "1".to_owned(),
        dedupe: dedupe.to_owned(),
        attempt: 1,
        lease: postrider_seams::LeaseCheck::default(),
        content: Content::Nothing,
        detail: Detail::new(),
    };
    encode(&envelope, &record, 1000)
}

#[test]
fn text_goes_as_it_is_and_the_rest_as_base64() {
    assert_eq!(entry("q", None, "{\"ü\": 1}\n".as_bytes(), &[], "d").unwrap().body, "{\"ü\": 1}\n");
    for payload in [&[0xff, 0x00][..], b"a\0b", "\u{ffff}".as_bytes()] {
        let entry = entry("q", None, payload, &[], "d").unwrap();
        assert_eq!(STANDARD.decode(&entry.body).unwrap(), payload);
        assert_eq!(entry.attributes, [("payload-encoding".to_owned(), "base64".to_owned())]);
    }
}

#[test]
fn records_that_sqs_never_accepts_are_rejected() {
    assert!(matches!(entry("q", None, b"", &[], "d"), Err(Outcome::Rejected(_))));
    assert!(matches!(entry("q", None, &[b'x'; 1001], &[], "d"), Err(Outcome::Rejected(_))));
    assert!(matches!(entry("q", None, &[b'x'; 990], &[("name", "value")], "d"), Err(Outcome::Rejected(_))));
}

#[test]
fn headers_are_attributes_or_one_attribute() {
    let few = entry("q", Some("k"), b"x", &[("id", "1"), ("none", "")], "d").unwrap();
    assert_eq!(few.attributes.len(), 2, "the header and the key");
    let names: Vec<String> = (0..11).map(|n| format!("h{n}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "v")).collect();
    let odd = [("a b", "1")];
    for headers in [&many[..], &odd] {
        let entry = entry("q", None, b"x", headers, "d").unwrap();
        assert_eq!(entry.attributes.len(), 1);
        let json: serde_json::Value = serde_json::from_str(&entry.attributes[0].1).unwrap();
        assert_eq!(json.as_object().unwrap().len(), headers.len());
    }
}

#[test]
fn fifo_queues_get_a_group_and_a_deduplication_id() {
    assert_eq!(entry("q", Some("k"), b"x", &[], "d").unwrap().fifo, None);
    let fifo = |key, dedupe: &str| entry("q.fifo", key, b"x", &[], dedupe).unwrap().fifo.unwrap();
    assert_eq!(fifo(Some("k"), "d"), ("k".to_owned(), "d".to_owned()));
    assert_eq!(fifo(None, "d"), ("d".to_owned(), "d".to_owned()), "a group of its own");
    let long = "x".repeat(129);
    let (group, dedupe) = fifo(Some("a b"), &long);
    assert_eq!((group.len(), dedupe.len()), (64, 64));
    assert_eq!(fifo(Some("a b"), &long), (group, dedupe), "the same every time");
}
