//! Encodes a record for librdkafka, and checks Kafka's rules.

use postrider_seams::outcome::rejected;
use postrider_seams::{Outcome, Record};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::FutureRecord;

/// Maximum length of a topic name.
const TOPIC_LIMIT: usize = 249;

/// Checks that this is a valid topic name.
pub(crate) fn check_topic(topic: &str) -> Result<(), Outcome> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if topic.is_empty() || topic.len() > TOPIC_LIMIT {
        return Err(rejected(format!("topic: {} characters; must be 1 to {TOPIC_LIMIT}", topic.len())));
    }
    if matches!(topic, "." | "..") || !topic.bytes().all(is_valid) {
        return Err(rejected("topic: must contain only letters, digits, '.', '_' and '-'"));
    }
    Ok(())
}

/// Encodes a record. The key selects the partition; without one, the producer distributes records.
pub(crate) fn encode(record: &Record) -> FutureRecord<'_, str, [u8]> {
    let mut headers = OwnedHeaders::new_with_capacity(record.headers.len());
    for (name, value) in &record.headers {
        headers = headers.insert(Header { key: name, value: Some(value.as_bytes()) });
    }
    let encoded = FutureRecord::to(&record.topic).payload(record.payload.as_ref()).headers(headers);
    match &record.key {
        Some(key) => encoded.key(key.as_str()),
        None => encoded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_follow_kafkas_rules() {
        for valid in ["a", "orders.v1_eu-west", &"x".repeat(249), "..."] {
            assert!(check_topic(valid).is_ok(), "{valid}");
        }
        for wrong in ["", ".", "..", "a b", "a/b", "ü", "a\0", &"x".repeat(250)] {
            assert!(matches!(check_topic(wrong), Err(Outcome::Rejected(_))), "{wrong}");
        }
    }
}
