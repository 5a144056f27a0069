//! Tests of Mailgun: the multipart form, and the code of each error.

use postrider_seams::{Content, Transport as _, transport};
use serde_json::json;

use crate::fake_provider::*;

/// Reads the fields of `/v3/{domain}/messages.mime`, multipart, in order.
fn fields(seen: &Seen) -> Vec<(String, Vec<u8>)> {
    let kind = seen.header("content-type");
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").expect("a form");
    let mark = format!("--{boundary}");
    let body = String::from_utf8(seen.body.to_vec()).expect("these tests send text");
    let parts: Vec<&str> = body.split(mark.as_str()).collect();
    assert_eq!(parts.last(), Some(&"--\r\n"), "the form ends");
    parts[1..parts.len() - 1]
        .iter()
        .map(|part| {
            let (head, value) =
                part.trim_start_matches("\r\n").split_once("\r\n\r\n").expect("a head and a value");
            let name = head.split("name=\"").nth(1).unwrap().split('"').next().unwrap();
            (name.to_owned(), value.strip_suffix("\r\n").unwrap().as_bytes().to_vec())
        })
        .collect()
}

fn rules(seen: &Seen) -> Reply {
    let error = |status, message: &str| plain(status, &json!({"message": message}));
    // api:mg-key
    if seen.header("authorization") != "Basic YXBpOm1nLWtleQ==" {
        return plain(401, "Forbidden");
    }
    if seen.path != "/v3/mg.example.org/messages.mime" {
        return error(404, "Domain not found: other.example.org");
    }
    let fields = fields(seen);
    let Some((_, to)) = fields.iter().find(|(name, _)| name == "to") else {
        return error(400, "to parameter is missing");
    };
    match local(std::str::from_utf8(to).unwrap()) {
        "bad" => error(400, "'to' parameter is not a valid address. please check documentation"),
        "field" => error(400, "'message' parameter is missing"),
        "inactive" => {
            error(403, "Domain mg.example.org is not allowed to send: Please activate your account.")
        }
        "fast" => {
            (429, vec![("retry-after", "5".to_owned())], json!({"message": "Too many requests"}).to_string())
        }
        "large" => error(413, "Request Entity Too Large"),
        "down" => error(500, "Internal Server Error"),
        _ => plain(200, &json!({"id": "<20261116.1@mg.example.org>", "message": "Queued. Thank you."})),
    }
}

#[tokio::test]
async fn n09_the_message_arrives_as_it_is() {
    let fake = FakeProvider::start(rules).await;
    let provider = fake.provider("mailgun://mg.example.org", &[("key", "mg-key")]);
    let envelope = mail(&["ann@example.com", "blind@example.com"]);
    let Content::Mail(sent) = envelope.content.clone() else { panic!() };
    let outcome = send(&provider, envelope).await;
    assert_eq!(delivered(&outcome).id.as_deref(), Some("20261116.1@mg.example.org"));
    let fields = fields(&fake.seen()[0]);
    let of = |name: &str| -> Vec<&[u8]> {
        fields.iter().filter(|(known, _)| known == name).map(|(_, value)| &value[..]).collect()
    };
    assert_eq!(of("to"), [&b"ann@example.com"[..], b"blind@example.com"]);
    assert_eq!(of("message"), [&sent.message[..]]);
    assert_eq!(of("v:dedupeKey"), [&b"event-7:42"[..]]);
}

#[tokio::test]
async fn n09_every_error_has_its_code() {
    let fake = FakeProvider::start(rules).await;
    let provider = fake.provider("mailgun://mg.example.org", &[("key", "mg-key")]);
    for (to, expected) in [
        ("bad@x.org", ("rejected", "invalid_recipient", None)),
        ("field@x.org", ("rejected", "validation_error", None)),
        ("large@x.org", ("rejected", "validation_error", None)),
        ("inactive@x.org", ("refused", "unauthorized", None)),
        ("fast@x.org", ("retryable", "rate_limited", Some(5))),
        ("down@x.org", ("retryable", "provider_error", None)),
    ] {
        let outcome = send(&provider, mail(&[to])).await;
        let (kind, code, after) = summary(&outcome);
        assert_eq!((kind, code.as_str(), after), expected, "{outcome:?}");
    }
}

#[tokio::test]
async fn g03_a_wrong_key_or_domain_is_refused_not_rejected() {
    let fake = FakeProvider::start(rules).await;
    for (url, key) in [("mailgun://mg.example.org", "hush"), ("mailgun://other.example.org", "mg-key")] {
        let provider = fake.provider(url, &[("key", key)]);
        assert_eq!(summary(&send(&provider, mail(&["ann@example.com"])).await).0, "refused");
        assert!(matches!(provider.probe().await, Err(transport::Error::Refused(_))));
    }
    fake.provider("mailgun://mg.example.org", &[("key", "mg-key")]).probe().await.unwrap();
}
