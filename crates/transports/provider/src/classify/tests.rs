use bytes::Bytes;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

use super::*;

fn answer(status: u16, headers: &[(&'static str, &'static str)]) -> ProviderResponse {
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect();
    ProviderResponse { status, headers, body: Bytes::new() }
}

#[test]
fn g03_wrong_credentials_do_not_reject_the_row() {
    for (status, kind) in [
        (401, FailureKind::Refused),
        (403, FailureKind::Refused),
        (404, FailureKind::Refused),
        (400, FailureKind::Rejected),
        (413, FailureKind::Rejected),
        (422, FailureKind::Rejected),
        (429, FailureKind::Temporary),
        (500, FailureKind::Temporary),
        (503, FailureKind::Temporary),
        (504, FailureKind::Uncertain),
        (302, FailureKind::Temporary),
    ] {
        assert_eq!(RequestFailure::by_status(&answer(status, &[]), "").kind, kind, "{status}");
    }
}

#[test]
fn n09_a_requested_wait_is_read_in_every_form() {
    const NOW: (&str, &str) = ("date", "Mon, 16 Nov 2026 00:00:00 GMT");
    let wait_seconds =
        |status, headers: &[_]| requested_wait(&answer(status, headers)).map(|wait| wait.as_secs());
    assert_eq!(wait_seconds(503, &[("retry-after", "7")]), Some(7));
    assert_eq!(wait_seconds(429, &[NOW, ("retry-after", "Mon, 16 Nov 2026 00:01:30 GMT")]), Some(90));
    assert_eq!(wait_seconds(429, &[("ratelimit-reset", "3")]), Some(3));
    assert_eq!(wait_seconds(429, &[NOW, ("x-ratelimit-reset", "1794787260")]), Some(60));
    assert_eq!(wait_seconds(429, &[NOW, ("x-ratelimit-reset", "1794787260000")]), Some(60));
    assert_eq!(wait_seconds(429, &[NOW, ("x-ratelimit-reset", "12")]), Some(0));
    assert_eq!(wait_seconds(200, &[NOW, ("x-ratelimit-reset", "1794787260")]), None);
    assert_eq!(wait_seconds(429, &[("retry-after", "soon")]), None);
    assert_eq!(wait_seconds(429, &[("retry-after", "-1")]), None);
    assert_eq!(wait_seconds(429, &[("retry-after", "1e19")]), Some(10_000_000_000_000_000_000));
    assert_eq!(wait_seconds(429, &[("retry-after", "1e30")]), Some(u64::MAX), "longer than a wait can be");
}
