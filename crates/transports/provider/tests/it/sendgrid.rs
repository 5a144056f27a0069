//! Tests of SendGrid: the request, and the code of each error.

use postrider_seams::{Transport as _, transport};
use serde_json::{Value, json};

use crate::fake_provider::*;

/// v3 mail/send: the checks of the reference in its order, then the response that the first recipient asks for.
fn rules(seen: &Seen) -> Reply {
    let error = |status, message: &str, field: Value| {
        plain(status, &json!({"errors": [{"message": message, "field": field, "help": null}]}))
    };
    if (seen.method.as_str(), seen.path.as_str()) != ("POST", "/v3/mail/send") {
        return error(404, "not found", Value::Null);
    }
    if seen.header("authorization") != "Bearer SG.key" {
        return error(401, "The provided authorization grant is invalid, expired, or revoked", Value::Null);
    }
    let body = seen.json();
    let to = &body["personalizations"][0]["to"];
    if to.as_array().is_none_or(Vec::is_empty) {
        return error(
            400,
            "The to array is required for all personalization objects, and must have at least one email object with a valid email address.",
            json!("personalizations.0.to"),
        );
    }
    if body["content"].as_array().is_none_or(Vec::is_empty)
        || body["subject"].as_str().is_none_or(str::is_empty)
    {
        return error(400, "The subject is required.", json!("subject"));
    }
    match local(to[0]["email"].as_str().unwrap()) {
        "bad" => error(400, "Does not contain a valid address.", json!("personalizations.0.to.0.email")),
        "field" => error(
            400,
            "The content value must be a string at least one character in length.",
            json!("content.0.value"),
        ),
        "forbidden" => error(403, "access forbidden", Value::Null),
        "credits" => error(401, "Maximum credits exceeded", Value::Null),
        "large" => error(413, "The content payload is too large", Value::Null),
        "fast" => {
            let (status, mut headers, body) = error(429, "too many requests", Value::Null);
            headers.push(("date", "Mon, 16 Nov 2026 00:00:00 GMT".to_owned()));
            headers.push(("x-ratelimit-reset", "1794787230".to_owned()));
            (status, headers, body)
        }
        "down" => error(503, "The SendGrid v3 Web API is not available.", Value::Null),
        _ if body["from"]["email"] == "stranger@example.net" => error(
            403,
            "The from address does not match a verified Sender Identity. Mail cannot be sent until this error is resolved.",
            json!("from"),
        ),
        _ => (202, vec![("x-message-id", "sg-77".to_owned())], String::new()),
    }
}

#[tokio::test]
async fn n09_a_mail_arrives_in_parts() {
    let fake = FakeProvider::start(rules).await;
    let provider = fake.provider("sendgrid://", &[("key", "SG.key")]);
    let outcome = send(&provider, mail(&["ann@example.com", "blind@example.com"])).await;
    let receipt = delivered(&outcome);
    assert_eq!(receipt.id.as_deref(), Some("sg-77"));
    assert_eq!(receipt.detail["provider"].as_text(), Some("sendgrid"));
    let body = fake.seen()[0].json();
    assert_eq!(
        body["personalizations"],
        json!([{"to": [{"email": "ann@example.com", "name": "Ann"}], "bcc": [{"email": "blind@example.com"}]}])
    );
    assert_eq!(body["from"], json!({"email": "box@example.org", "name": "Box, Office"}));
    assert_eq!(body["subject"], "Grüße");
    assert_eq!(body["content"][0]["type"], "text/plain");
    assert_eq!(body["content"][1]["type"], "text/html");
    assert_eq!(body["attachments"][0]["content"], "AAEC");
    assert_eq!(body["headers"]["List-Unsubscribe-Post"], "List-Unsubscribe=One-Click");
    assert_eq!(body["headers"]["Message-ID"], "<m-1@example.org>");
    assert_eq!(
        body["custom_args"],
        json!({"subscriptionId": "42", "traceId": "t/1", "dedupeKey": "event-7:42"})
    );
}

#[tokio::test]
async fn n09_every_error_has_its_code() {
    let fake = FakeProvider::start(rules).await;
    let provider = fake.provider("sendgrid://", &[("key", "SG.key")]);
    for (to, expected) in [
        ("bad@x.org", ("rejected", "invalid_recipient", None)),
        ("field@x.org", ("rejected", "validation_error", None)),
        ("large@x.org", ("rejected", "validation_error", None)),
        ("forbidden@x.org", ("refused", "unauthorized", None)),
        ("credits@x.org", ("refused", "unauthorized", None)),
        ("fast@x.org", ("retryable", "rate_limited", Some(30))),
        ("down@x.org", ("retryable", "provider_error", None)),
    ] {
        let outcome = send(&provider, mail(&[to])).await;
        let (kind, code, after) = summary(&outcome);
        assert_eq!((kind, code.as_str(), after), expected, "{outcome:?}");
    }
}

#[tokio::test]
async fn g03_a_wrong_key_is_refused_not_rejected_and_never_shown() {
    let fake = FakeProvider::start(rules).await;
    let provider = fake.provider("sendgrid://", &[("key", "SG.hush")]);
    let outcome = send(&provider, mail(&["ann@example.com"])).await;
    assert_eq!(summary(&outcome).0, "refused");
    assert!(!format!("{outcome:?} {provider:?}").contains("hush"));
    assert!(
        matches!(provider.probe().await, Err(transport::Error::Refused(words)) if !words.contains("hush"))
    );
    fake.provider("sendgrid://", &[("key", "SG.key")]).probe().await.unwrap();
}

#[tokio::test]
async fn g03_a_sender_refused_after_others_were_accepted_rejects_the_row() {
    let fake = FakeProvider::start(rules).await;
    let provider = fake.provider("sendgrid://", &[("key", "SG.key")]);
    let stranger = || mail_from("stranger@example.net", &["ann@example.com"]);
    assert_eq!(summary(&send(&provider, stranger()).await).0, "refused");
    delivered(&send(&provider, mail(&["ann@example.com"])).await);
    let outcome = send(&provider, stranger()).await;
    assert_eq!(summary(&outcome), ("rejected", "validation_error".to_owned(), None), "{outcome:?}");
}
