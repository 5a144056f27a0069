//! Dead letters (rule O9): the record under another topic, with headers that describe the failure.

use postrider_seams::{Content, Envelope, Record};

use super::headers;

/// The rule that derives the topic of a dead letter from the record's topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetters {
    /// Suffix that is appended to the topic's name.
    pub suffix: String,
    /// An ending that must stay last: SQS recognises FIFO queues by theirs.
    pub keep_last: Option<String>,
}

impl DeadLetters {
    /// Creates the dead letter: the record's payload, key and headers, and `error`, `attempts` and `original-topic`. It
    /// gets its own id for the broker's deduplication, as both topics may be in one stream; `idempotency-key` is
    /// unchanged.
    pub(super) fn dead_letter(&self, envelope: &Envelope, reason: &str) -> Option<Envelope> {
        let Content::Record(record) = &envelope.content else { return None };
        let mut headers = record.headers.clone();
        headers::set(&mut headers, "error", reason);
        headers::set(&mut headers, "attempts", &envelope.attempt.to_string());
        headers::set(&mut headers, "original-topic", &record.topic);
        let dead_record = Record { topic: self.topic(&record.topic), headers, ..record.clone() };
        let dedupe = format!("{}{}", envelope.dedupe, self.suffix);
        Some(Envelope { dedupe, content: Content::Record(dead_record), ..envelope.clone() })
    }

    fn topic(&self, topic: &str) -> String {
        let ending = self.keep_last.as_deref().filter(|ending| topic.ends_with(*ending)).unwrap_or_default();
        let name = topic.strip_suffix(ending).unwrap_or(topic);
        format!("{name}{}{ending}", self.suffix)
    }
}
