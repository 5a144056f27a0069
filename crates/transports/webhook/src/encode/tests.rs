use bytes::Bytes;
use postrider_http::RESERVED_HEADERS;
use postrider_seams::Secret;
use proptest::prelude::*;

use super::*;

fn webhook(headers: &[(&str, &str)]) -> Webhook {
    Webhook {
        url: "https://a.example/hook".to_owned(),
        headers: headers.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
        content_type: "application/json".to_owned(),
        body: Bytes::from_static(b"{}"),
        timeout: None,
        authorization: None,
        signing: vec![Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")],
        may_postpone: false,
        follows_retry_after: true,
        subscription: None,
        client: None,
        clock_offset: 0,
        allowed_hosts: None,
        recheck: None,
    }
}

fn encoded(webhook: &Webhook) -> Result<HttpRequest, EncodeError> {
    encode("0HZXEQ5Y8JY5Z", webhook, Target::parse(&webhook.url).unwrap(), 1_614_265_330)
}

#[test]
fn j12_reserved_headers_cannot_be_overridden() {
    let plain = encoded(&webhook(&[])).unwrap().headers;
    let names = RESERVED_HEADERS.map(|name| (name, "forged"));
    let upper = RESERVED_HEADERS.map(str::to_uppercase);
    let upper: Vec<(&str, &str)> = upper.iter().map(|name| (name.as_str(), "forged")).collect();
    for forged in [&names[..], &upper] {
        assert_eq!(encoded(&webhook(forged)).unwrap().headers, plain);
    }
    let of_the_body = [("Content-Encoding", "gzip"), ("HTTP2-Settings", "AAMAAABkAAQAAP__")];
    assert_eq!(encoded(&webhook(&of_the_body)).unwrap().headers, plain);
    let mut signed = webhook(&[("Authorization", "forged"), ("User-Agent", "shop/1"), ("X-Custom", "ü")]);
    signed.authorization = Some(Secret::new("Bearer hunter2"));
    let headers = encoded(&signed).unwrap().headers;
    assert_eq!(headers["authorization"], "Bearer hunter2");
    assert_eq!(
        (&headers["user-agent"], headers["x-custom"].as_bytes()),
        (&HeaderValue::from_static("shop/1"), "ü".as_bytes())
    );
    assert!(!format!("{headers:?} {signed:?}").contains("hunter2"));
}

#[test]
fn j10_an_invalid_secret_never_means_unsigned() {
    let mut broken = webhook(&[]);
    broken.signing.push(Secret::new("whsec_???"));
    assert!(matches!(encoded(&broken), Err(EncodeError::Secret(_))));
    let mut broken = webhook(&[]);
    broken.authorization = Some(Secret::new("Bearer a\r\nX: y"));
    assert!(matches!(encoded(&broken), Err(EncodeError::Secret(_))));
}

proptest! {
    /// No header of a row can inject another one.
    #[test]
    fn j12_headers_can_not_be_injected(name in "\\PC*|[\\x00-\\x7f]{0,20}", value in "[\\x00-\\x7f]{0,40}") {
        if let Ok(call) = encoded(&webhook(&[(&name, &value)])) {
            for (name, value) in &call.headers {
                prop_assert!(!name.as_str().contains(['\r', '\n', ':', ' ', '\0']));
                prop_assert!(!value.as_bytes().iter().any(|byte| b"\r\n\0".contains(byte)));
            }
            prop_assert!(call.headers.len() <= 6);
        }
    }
}
