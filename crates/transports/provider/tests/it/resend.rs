//! Tests of Resend: the request with its idempotency key, and the code of each error.

use postrider_seams::{Transport as _, transport};
use serde_json::json;

use crate::fake_provider::*;

fn rules(seen: &Seen) -> Reply {
    let error = |status: u16, name: &str, message: &str| {
        plain(status, &json!({"statusCode": status, "name": name, "message": message}))
    };
    if seen.path != "/emails" {
        return error(404, "not_found", "The requested endpoint does not exist.");
    }
    match seen.header("authorization") {
        "" => return error(401, "missing_api_key", "Missing API key in the authorization header."),
        "Bearer re_key" => {}
        _ => return error(403, "invalid_api_key", "API key is invalid."),
    }
    let body = seen.json();
    let Some(to) = body["to"][0].as_str() else {
        return error(422, "missing_required_field", "Missing `to` field.");
    };
    let first = to.rsplit_once('<').map_or(to, |(_, rest)| rest);
    match local(first) {
        "bad" => error(
            422,
            "validation_error",
            "Invalid `to` field. The email address needs to follow the format.",
        ),
        "field" => error(422, "invalid_attachment", "Attachment must have either a content or path."),
        "fast" => {
            let (status, _, body) = error(429, "rate_limit_exceeded", "Too many requests.");
            (status, vec![("retry-after", "2".to_owned())], body)
        }
        "quota" => error(429, "daily_quota_exceeded", "You have reached your daily email sending quota."),
        "twice" => error(409, "concurrent_idempotent_requests", "The original request is still in progress."),
        "other" => {
            error(409, "invalid_idempotent_request", "This idempotency key was used with a different body.")
        }
        "down" => error(500, "application_error", "An unexpected error occurred."),
        _ if body["from"].as_str().unwrap().contains("stranger@") => {
            error(403, "validation_error", "The example.net domain is not verified.")
        }
        _ => plain(200, &json!({"id": "49a3999c"})),
    }
}

#[tokio::test]
async fn n08_the_idempotency_key_is_sent() {
    let fake = FakeProvider::start(rules).await;
    let provider = fake.provider("resend://", &[("key", "re_key")]);
    assert!(provider.capabilities().deduplicates);
    for _ in 0..2 {
        let outcome = send(&provider, mail(&["ann@example.com", "blind@example.com"])).await;
        assert_eq!(delivered(&outcome).id.as_deref(), Some("49a3999c"));
    }
    let [first, second] = &fake.seen()[..] else { panic!() };
    assert!(first.header("idempotency-key").starts_with("event-7:42/"));
    assert_eq!(
        (first.header("idempotency-key"), &first.body),
        (second.header("idempotency-key"), &second.body)
    );
    let body = first.json();
    assert_eq!(
        (&body["to"], &body["bcc"]),
        (&json!(["\"Ann\" <ann@example.com>"]), &json!(["blind@example.com"]))
    );
    assert_eq!(body["attachments"][0]["content"], "AAEC");
    assert_eq!(body["headers"]["List-Unsubscribe"], "<https://example.org/u/1>");
    assert_eq!(body["headers"]["X-Metadata-Dedupe-Key"], DEDUPE_KEY, "unchanged (N8)");
    assert!(body["tags"].as_array().unwrap().contains(&json!({"name": "traceId", "value": "t_1"})));
}

#[tokio::test]
async fn n09_every_error_has_its_code() {
    let fake = FakeProvider::start(rules).await;
    let provider = fake.provider("resend://", &[("key", "re_key")]);
    for (to, expected) in [
        ("bad@x.org", ("rejected", "invalid_recipient", None)),
        ("field@x.org", ("rejected", "validation_error", None)),
        ("other@x.org", ("rejected", "validation_error", None)),
        ("fast@x.org", ("retryable", "rate_limited", Some(2))),
        ("quota@x.org", ("retryable", "rate_limited", None)),
        ("twice@x.org", ("retryable", "provider_error", None)),
        ("down@x.org", ("retryable", "provider_error", None)),
    ] {
        let outcome = send(&provider, mail(&[to])).await;
        let (kind, code, after) = summary(&outcome);
        assert_eq!((kind, code.as_str(), after), expected, "{outcome:?}");
    }
    let stranger = send(&provider, mail_from("stranger@example.net", &["ann@example.com"])).await;
    assert_eq!(summary(&stranger).0, "refused");
}

#[tokio::test]
async fn g03_a_wrong_key_is_refused_not_rejected() {
    let fake = FakeProvider::start(rules).await;
    let provider = fake.provider("resend://", &[("key", "re_hush")]);
    let outcome = send(&provider, mail(&["ann@example.com"])).await;
    assert_eq!(summary(&outcome).0, "refused");
    assert!(!format!("{outcome:?}").contains("hush"));
    assert!(matches!(provider.probe().await, Err(transport::Error::Refused(_))));
    fake.provider("resend://", &[("key", "re_key")]).probe().await.unwrap();
}
