//! Tests of Amazon SES: the signed request, and the code of each error.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use postrider_seams::{Content, Transport as _, transport};
use serde_json::json;

use crate::fake_provider::*;

const KEYS: [(&str, &str); 2] =
    [("user", "AKIDEXAMPLE"), ("password", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")];

/// v2 `SendEmail`: the error's name is in a header, its message in the body.
fn rules(seen: &Seen) -> Reply {
    let error = |status, name: &str, message: &str| {
        (
            status,
            vec![("x-amzn-errortype", format!("{name}:http://internal.amazon.com/"))],
            json!({"message": message}).to_string(),
        )
    };
    if seen.path != "/v2/email/outbound-emails" {
        return error(404, "UnknownOperationException", "");
    }
    let scope = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/";
    let authorization = seen.header("authorization");
    if !authorization.starts_with(scope) || !authorization.contains("/eu-west-1/ses/aws4_request") {
        return error(
            403,
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        );
    }
    if signature(seen) != authorization.rsplit_once("Signature=").unwrap().1 {
        return error(
            403,
            "InvalidSignatureException",
            "The request signature we calculated does not match.",
        );
    }
    let body = seen.json();
    let Some(to) = body["Destination"]["ToAddresses"][0].as_str() else {
        return error(400, "BadRequestException", "Content is missing");
    };
    match local(to) {
        "bad" => error(400, "BadRequestException", "Missing final '@domain'"),
        "field" => error(400, "BadRequestException", "Invalid MIME"),
        "virus" => error(400, "MessageRejected", "Content is infected"),
        "sandbox" => error(
            400,
            "MessageRejected",
            "Email address is not verified. The following identities failed the check in region EU-WEST-1: box@example.org",
        ),
        "paused" => error(400, "SendingPausedException", "Sending is paused"),
        "closed" => error(400, "AccountSuspendedException", "Suspended"),
        "set" => error(404, "NotFoundException", "Configuration set <x> does not exist."),
        "fast" => error(429, "TooManyRequestsException", "Maximum sending rate exceeded."),
        "quota" => error(400, "LimitExceededException", "Daily message quota exceeded."),
        "down" => error(503, "ServiceUnavailable", "later"),
        _ => plain(200, &json!({"MessageId": "0102018f-1"})),
    }
}

/// Computes the signature from AWS's description, independently of the library that made it.
fn signature(seen: &Seen) -> String {
    use ring::{digest, hmac};
    let hex = |bytes: &[u8]| {
        let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap();
        bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect::<String>()
    };
    let sha = |bytes: &[u8]| hex(digest::digest(&digest::SHA256, bytes).as_ref());
    let mac = |key: &[u8], text: &str| {
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
    };
    let names =
        seen.header("authorization").split("SignedHeaders=").nth(1).unwrap().split(',').next().unwrap();
    let headers: Vec<String> =
        names.split(';').map(|name| format!("{name}:{}\n", seen.header(name))).collect();
    let headers = headers.concat();
    let canonical = format!("{}\n{}\n\n{headers}\n{names}\n{}", seen.method, seen.path, sha(&seen.body));
    let date = seen.header("x-amz-date");
    let day = &date[..8];
    let text =
        format!("AWS4-HMAC-SHA256\n{date}\n{day}/eu-west-1/ses/aws4_request\n{}", sha(canonical.as_bytes()));
    let key = ["eu-west-1", "ses", "aws4_request"]
        .iter()
        .fold(mac(format!("AWS4{}", KEYS[1].1).as_bytes(), day), |key, part| mac(&key, part));
    hex(&mac(&key, &text))
}

#[tokio::test]
async fn n09_the_message_arrives_as_it_is_and_signed() {
    let fake = FakeProvider::start(rules).await;
    let provider = fake.provider("ses://eu-west-1?configuration_set=events", &KEYS);
    let envelope = mail(&["ann@example.com", "blind@example.com"]);
    let Content::Mail(sent) = envelope.content.clone() else { panic!() };
    let outcome = send(&provider, envelope).await;
    assert_eq!(delivered(&outcome).id.as_deref(), Some("0102018f-1"));
    let body = fake.seen()[0].json();
    assert_eq!(STANDARD.decode(body["Content"]["Raw"]["Data"].as_str().unwrap()).unwrap(), sent.message);
    assert_eq!(body["Destination"], json!({"ToAddresses": ["ann@example.com", "blind@example.com"]}));
    assert_eq!(body["ConfigurationSetName"], "events");
    assert!(
        body["EmailTags"].as_array().unwrap().contains(&json!({"Name": "dedupeKey", "Value": "event-7_42"}))
    );
}

#[tokio::test]
async fn n09_every_error_has_its_code() {
    let fake = FakeProvider::start(rules).await;
    let provider = fake.provider("ses://eu-west-1", &KEYS);
    for (to, kind, code) in [
        ("bad@x.org", "rejected", "invalid_recipient"),
        ("field@x.org", "rejected", "validation_error"),
        ("virus@x.org", "rejected", "validation_error"),
        ("sandbox@x.org", "refused", "unauthorized"),
        ("paused@x.org", "refused", "unauthorized"),
        ("closed@x.org", "refused", "unauthorized"),
        ("set@x.org", "refused", "unauthorized"),
        ("fast@x.org", "retryable", "rate_limited"),
        ("quota@x.org", "retryable", "rate_limited"),
        ("down@x.org", "retryable", "provider_error"),
    ] {
        let outcome = send(&provider, mail(&[to])).await;
        assert_eq!(summary(&outcome), (kind, code.to_owned(), None), "{outcome:?}");
    }
}

#[tokio::test]
async fn g03_wrong_keys_are_refused_not_rejected_and_never_shown() {
    let fake = FakeProvider::start(rules).await;
    for (user, password) in [("AKIDEXAMPLE", "hush"), ("AKIDOTHER", KEYS[1].1)] {
        let provider = fake.provider("ses://eu-west-1", &[("user", user), ("password", password)]);
        let outcome = send(&provider, mail(&["ann@example.com"])).await;
        assert_eq!(summary(&outcome).0, "refused", "{outcome:?}");
        assert!(!format!("{outcome:?} {provider:?}").contains(password));
        assert!(matches!(provider.probe().await, Err(transport::Error::Refused(_))));
    }
    fake.provider("ses://eu-west-1", &KEYS).probe().await.unwrap();
}
