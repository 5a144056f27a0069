//! Encodes a record as an entry of an SQS batch.
//!
//! SQS accepts text only. A payload that is not text, or has characters that SQS refuses, is sent as base64, marked by
//! the attribute `payload-encoding`. Headers become attributes; if there are too many, or SQS refuses their names, one
//! attribute `headers` has them all as JSON.

use std::fmt::Write as _;

use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use postrider_seams::outcome::rejected;
use postrider_seams::{Envelope, Outcome, Record};

/// Maximum number of attributes of a message.
const MAX_ATTRIBUTES: usize = 10;
/// Maximum characters of a group and of a deduplication id.
const ID_LIMIT: usize = 128;

/// An entry without its id in a batch.
#[derive(Debug, Clone)]
pub(crate) struct BatchEntry {
    body: String,
    attributes: Vec<(String, String)>,
    /// Group and deduplication id; only for FIFO queues.
    pub fifo: Option<(String, String)>,
    /// Size in bytes, as SQS counts it.
    pub size: usize,
}

/// Whether the queue is FIFO: SQS recognises them by the suffix of their name, which is case-sensitive.
pub(crate) fn is_fifo(topic: &str) -> bool {
    topic.strip_suffix(".fifo").is_some()
}

pub(crate) fn encode(envelope: &Envelope, record: &Record, max_size: usize) -> Result<BatchEntry, Outcome> {
    if record.payload.is_empty() {
        return Err(rejected("payload: empty; SQS accepts no empty messages"));
    }
    let mut headers = record.headers.clone();
    if let Some(key) = &record.key {
        headers.push(("key".to_owned(), key.clone()));
    }
    let body = match std::str::from_utf8(&record.payload) {
        Ok(text) if text.chars().all(is_allowed) => text.to_owned(),
        _ => {
            headers.push(("payload-encoding".to_owned(), "base64".to_owned()));
            STANDARD.encode(&record.payload)
        }
    };
    let attributes = attributes(headers);
    let kind = "String".len();
    let size =
        body.len() + attributes.iter().map(|(name, value)| name.len() + value.len() + kind).sum::<usize>();
    if size > max_size {
        return Err(rejected(format!(
            "the message has {size} bytes with its attributes; at most {max_size} are allowed"
        )));
    }
    let fifo = is_fifo(&record.topic).then(|| {
        let dedupe = identifier(&envelope.dedupe);
        (record.key.as_deref().map_or_else(|| dedupe.clone(), identifier), dedupe)
    });
    Ok(BatchEntry { body, attributes, fifo, size })
}

impl BatchEntry {
    /// Builds the entry; `id` identifies it within its request.
    pub(crate) fn build(&self, id: usize) -> SendMessageBatchRequestEntry {
        let mut entry = SendMessageBatchRequestEntry::builder().id(id.to_string()).message_body(&self.body);
        for (name, value) in &self.attributes {
            let value = MessageAttributeValue::builder().data_type("String").string_value(value).build();
            entry = entry.message_attributes(name, value.expect("the type is set"));
        }
        if let Some((group, dedupe)) = &self.fifo {
            entry = entry.message_group_id(group).message_deduplication_id(dedupe);
        }
        entry.build().expect("id and body are set")
    }
}

fn attributes(headers: Vec<(String, String)>) -> Vec<(String, String)> {
    let headers: Vec<_> = headers.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    let fits = |(name, value): &(String, String)| is_attribute_name(name) && value.chars().all(is_allowed);
    if headers.len() <= MAX_ATTRIBUTES && headers.iter().all(fits) {
        return headers;
    }
    let json: serde_json::Map<String, serde_json::Value> =
        headers.into_iter().map(|(name, value)| (name, value.into())).collect();
    vec![("headers".to_owned(), serde_json::Value::Object(json).to_string())]
}

fn is_attribute_name(name: &str) -> bool {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let lower = name.to_ascii_lowercase();
    (1..=256).contains(&name.len())
        && name.bytes().all(is_valid)
        && !name.starts_with('.')
        && !name.ends_with('.')
        && !name.contains("..")
        && !lower.starts_with("aws.")
        && !lower.starts_with("amazon.")
}

/// Whether XML 1.0, and so SQS, allows the character.
fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Returns the text if SQS accepts it, else its hash: equal texts always have equal identifiers.
fn identifier(text: &str) -> String {
    let is_valid = text.bytes().all(|byte| byte.is_ascii_graphic());
    if is_valid && (1..=ID_LIMIT).contains(&text.len()) {
        return text.to_owned();
    }
    let hash = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    hash.as_ref().iter().fold(String::with_capacity(64), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a String never fails");
        hex
    })
}

#[cfg(test)]
mod tests;
