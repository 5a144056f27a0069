use bytes::Bytes;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

use super::*;

fn answer(status: u16, headers: &[(&'static str, &'static str)]) -> Answer {
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect();
    Answer { status, headers, body: Bytes::new() }
}

#[test]
fn g3_statuses_of_ours_are_not_the_rows() {
    for (status, fate) in [
        (401, Fate::Refused),
        (403, Fate::Refused),
        (404, Fate::Refused),
        (400, Fate::Rejected),
        (413, Fate::Rejected),
        (422, Fate::Rejected),
        (429, Fate::Later),
        (500, Fate::Later),
        (503, Fate::Later),
        (504, Fate::Uncertain),
        (302, Fate::Later),
    ] {
        assert_eq!(Judgement::by_status(&answer(status, &[]), "").fate, fate, "{status}");
    }
}

#[test]
fn n9_a_wish_to_wait_is_read_in_every_form() {
    const NOW: (&str, &str) = ("date", "Mon, 16 Nov 2026 00:00:00 GMT");
    let told = |status, headers: &[_]| wish(&answer(status, headers)).map(|wish| wish.as_secs());
    assert_eq!(told(503, &[("retry-after", "7")]), Some(7));
    assert_eq!(told(429, &[NOW, ("retry-after", "Mon, 16 Nov 2026 00:01:30 GMT")]), Some(90));
    assert_eq!(told(429, &[("ratelimit-reset", "3")]), Some(3));
    assert_eq!(told(429, &[NOW, ("x-ratelimit-reset", "1794787260")]), Some(60));
    assert_eq!(told(429, &[NOW, ("x-ratelimit-reset", "1794787260000")]), Some(60));
    assert_eq!(told(429, &[NOW, ("x-ratelimit-reset", "12")]), Some(0));
    assert_eq!(told(200, &[NOW, ("x-ratelimit-reset", "1794787260")]), None);
    assert_eq!(told(429, &[("retry-after", "soon")]), None);
    assert_eq!(told(429, &[("retry-after", "-1")]), None);
}
