//! Dead letters (rule O9): the record itself under another topic, with headers that say what happened to it.

use postrider_seams::{Content, Envelope, Record};

use super::headers;

/// How the topic of a dead letter is made of the record's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetters {
    /// Follows the topic's name.
    pub suffix: String,
    /// An ending that stays the last: SQS knows its FIFO queues by one.
    pub before: Option<String>,
}

impl DeadLetters {
    /// The record's payload, key and headers, and `error`, `attempts` and `original-topic` beside them. It has an id of
    /// its own for the broker's dedup, as both topics may be one stream; `idempotency-key` stays the record's.
    pub(super) fn write(&self, envelope: &Envelope, reason: &str) -> Option<Envelope> {
        let Content::Record(record) = &envelope.content else { return None };
        let mut headers = record.headers.clone();
        headers::set(&mut headers, "error", reason);
        headers::set(&mut headers, "attempts", &envelope.attempt.to_string());
        headers::set(&mut headers, "original-topic", &record.topic);
        let letter = Record { topic: self.topic(&record.topic), headers, ..record.clone() };
        let dedupe = format!("{}{}", envelope.dedupe, self.suffix);
        Some(Envelope { dedupe, content: Content::Record(letter), ..envelope.clone() })
    }

    fn topic(&self, topic: &str) -> String {
        let ending = self.before.as_deref().filter(|ending| topic.ends_with(*ending)).unwrap_or_default();
        let name = topic.strip_suffix(ending).unwrap_or(topic);
        format!("{name}{}{ending}", self.suffix)
    }
}
