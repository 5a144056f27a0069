//! Encodes a record as a JetStream message.
//!
//! Invariant: no row can publish to the server's own subjects, or set a header that controls a stream.

use async_nats::header::{HeaderMap, HeaderName, HeaderValue, NATS_MESSAGE_ID};
use async_nats::jetstream::message::PublishMessage;
use postrider_seams::outcome::rejected;
use postrider_seams::{Outcome, Record};

/// Checks that this is a valid subject to publish to.
pub(crate) fn check_subject(subject: &str) -> Result<(), Outcome> {
    let blank = |c: char| c.is_whitespace() || c.is_control();
    if subject.split('.').any(str::is_empty) {
        return Err(rejected("topic: a subject must not be empty, nor have empty parts between its dots"));
    }
    if subject.contains(['*', '>']) || subject.contains(blank) {
        return Err(rejected(
            "topic: a subject must not contain wildcards (* and >), blanks or control characters",
        ));
    }
    if subject.starts_with(['$', '_']) {
        return Err(rejected("topic: subjects that begin with $ or _ are reserved for the server"));
    }
    Ok(())
}

/// Encodes a record. Its key becomes the header `key`: NATS has no message keys.
pub(crate) fn encode(record: &Record, dedupe: &str) -> Result<PublishMessage, Outcome> {
    let mut headers = HeaderMap::new();
    for (name, value) in &record.headers {
        let is_reserved = name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("nats-"));
        if is_reserved {
            return Err(rejected(format!("headers: {name} is reserved: Nats- headers control the stream")));
        }
        headers.insert(header_name(name)?, header_value(name, value)?);
    }
    if let Some(key) = &record.key {
        headers.insert(header_name("key")?, header_value("key", key)?);
    }
    headers.insert(NATS_MESSAGE_ID, header_value("the dedupe key", dedupe)?);
    Ok(PublishMessage::build().payload(record.payload.clone()).headers(headers))
}

fn header_name(name: &str) -> Result<HeaderName, Outcome> {
    name.parse().map_err(|_| rejected(format!("headers: {name:?} is not a valid name of a NATS header")))
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, Outcome> {
    value
        .parse()
        .map_err(|_| rejected(format!("headers: {name} contains a line break, which NATS does not allow")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(headers: &[(&str, &str)]) -> Record {
        Record {
            topic: "deals".to_owned(),
            key: Some("k".to_owned()),
            payload: "x".into(),
            headers: headers.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
        }
    }

    #[test]
    fn subjects_are_plain_names() {
        for fine in ["deals", "deals.eu.made", "a-b_c.1", "größe"] {
            assert!(check_subject(fine).is_ok(), "{fine}");
        }
        for wrong in
            ["", ".a", "a..b", "a.", "a.*", ">", "a b", "a\tb", "$JS.API.STREAM.DELETE.x", "_INBOX.x"]
        {
            assert!(matches!(check_subject(wrong), Err(Outcome::Rejected(_))), "{wrong}");
        }
    }

    #[test]
    fn a_row_cant_steer_the_stream_or_break_the_protocol() {
        assert!(encode(&record(&[("id", "1")]), "d").is_ok());
        for header in
            [("Nats-Rollup", "all"), ("nats-msg-id", "x"), ("a", "x\r\nNats-Rollup: all"), ("a b", "x")]
        {
            assert!(matches!(encode(&record(&[header]), "d"), Err(Outcome::Rejected(_))), "{header:?}");
        }
        assert!(encode(&record(&[]), "d\n").is_err());
    }
}
