//! Tests of Postmark: the request, the code of each error, and many recipients.

use postrider_seams::{Transport as _, transport};
use serde_json::json;

use crate::fake_provider::*;

/// `/email`: HTTP 422 with an API error code, 401 for the token.
fn rules(seen: &Seen) -> Reply {
    let error =
        |status, code: u32, message: &str| plain(status, &json!({"ErrorCode": code, "Message": message}));
    if seen.path != "/email" {
        return plain(404, "");
    }
    if seen.header("x-postmark-server-token") != "pm-key" {
        return error(
            401,
            10,
            "No Account or Server API tokens were supplied in the HTTP headers, or they are wrong.",
        );
    }
    let body = seen.json();
    let (from, to) = (body["From"].as_str().unwrap_or_default(), body["To"].as_str().unwrap_or_default());
    if from.is_empty() || to.is_empty() {
        return error(422, 300, "Invalid 'From' address: ''.");
    }
    let first = to.rsplit_once('<').map_or(to, |(_, rest)| rest);
    match local(first) {
        "bad" => error(422, 300, "Error parsing 'To': Illegal email domain 'x' in address 'bad@x'."),
        "field" => error(422, 403, "The value for field is not valid."),
        "inactive" => error(422, 406, "You tried to send to recipient(s) that have been marked as inactive."),
        "credits" => error(422, 405, "You ran out of credits."),
        "pending" => error(422, 412, "This account is pending approval."),
        "fast" => error(429, 429, "Rate limit exceeded."),
        "down" => error(503, 100, "The Postmark API is offline for maintenance."),
        "broken" => plain(500, "Internal Server Error"),
        _ if from.contains("stranger@") => {
            error(422, 400, "The 'From' address you supplied is not a Sender Signature.")
        }
        _ => plain(
            200,
            &json!({
                "To": to, "SubmittedAt": "2026-11-16T00:00:00Z", "MessageID": "0a129aee", "ErrorCode": 0,
                "Message": if to.contains("half@") || body["Bcc"] == "half@example.com" {
                    "Message OK, but will not deliver to these inactive addresses: half@example.com."
                } else { "OK" },
            }),
        ),
    }
}

#[tokio::test]
async fn n09_a_mail_arrives_in_parts() {
    let fake = FakeProvider::start(rules).await;
    let provider = fake.provider("postmark://", &[("key", "pm-key"), ("stream", "broadcasts")]);
    let outcome = send(&provider, mail(&["ann@example.com", "half@example.com"])).await;
    let receipt = delivered(&outcome);
    assert_eq!(receipt.id.as_deref(), Some("0a129aee"));
    let results = receipt.detail["recipients"].as_text().unwrap();
    assert!(results.contains(r#"{"address":"half@example.com","result":"refused""#), "{results}");
    let body = fake.seen()[0].json();
    assert_eq!(body["From"], "\"Box, Office\" <box@example.org>");
    assert_eq!(
        (&body["To"], &body["Bcc"]),
        (&json!("\"Ann\" <ann@example.com>"), &json!("half@example.com"))
    );
    assert_eq!(body["ReplyTo"], "help@example.org");
    assert_eq!(body["MessageStream"], "broadcasts");
    assert_eq!(
        body["Attachments"],
        json!([{"Name": "t.pdf", "Content": "AAEC", "ContentType": "application/pdf"}])
    );
    assert_eq!(body["Metadata"]["dedupeKey"], "event-7:42");
    let headers = body["Headers"].as_array().unwrap();
    for (name, value) in [("Message-ID", "<m-1@example.org>"), ("X-PM-KeepID", "true")] {
        assert!(headers.contains(&json!({"Name": name, "Value": value})), "{headers:?}");
    }
}

#[tokio::test]
async fn n09_every_error_has_its_code() {
    let fake = FakeProvider::start(rules).await;
    let provider = fake.provider("postmark://", &[("key", "pm-key")]);
    for (to, kind, code) in [
        ("bad@x.org", "rejected", "invalid_recipient"),
        ("inactive@x.org", "rejected", "invalid_recipient"),
        ("field@x.org", "rejected", "validation_error"),
        ("credits@x.org", "refused", "unauthorized"),
        ("pending@x.org", "refused", "unauthorized"),
        ("fast@x.org", "retryable", "rate_limited"),
        ("down@x.org", "retryable", "provider_error"),
        ("broken@x.org", "retryable", "provider_error"),
    ] {
        let outcome = send(&provider, mail(&[to])).await;
        assert_eq!(summary(&outcome), (kind, code.to_owned(), None), "{outcome:?}");
    }
    let stranger = send(&provider, mail_from("stranger@example.net", &["ann@example.com"])).await;
    assert_eq!(summary(&stranger).0, "refused");
}

#[tokio::test]
async fn g03_a_wrong_token_is_refused_not_rejected() {
    let fake = FakeProvider::start(rules).await;
    let provider = fake.provider("postmark://", &[("key", "hush")]);
    assert_eq!(summary(&send(&provider, mail(&["ann@example.com"])).await).0, "refused");
    assert!(matches!(provider.probe().await, Err(transport::Error::Refused(_))));
    fake.provider("postmark://", &[("key", "pm-key")]).probe().await.unwrap();
}

#[tokio::test]
async fn more_recipients_than_fit_a_request_go_in_several() {
    let fake = FakeProvider::start(rules).await;
    let provider = fake.provider("postmark://", &[("key", "pm-key")]);
    let many: Vec<String> = (0..52).map(|n| format!("r{n}@example.com")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let outcome = send(&provider, mail(&many)).await;
    assert_eq!(delivered(&outcome).detail["recipients"].as_text().unwrap().matches("accepted").count(), 52);
    let seen = fake.seen();
    assert_eq!(seen.len(), 3, "fifty with the visible one, and two hidden ones alone");
    assert_eq!(seen[1].json()["To"], "r50@example.com");
    assert!(seen[1].json()["Bcc"].is_null());
}
