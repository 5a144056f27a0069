//! Reads column values of records in the types in which databases return them.

use bytes::Bytes;
use postrider_seams::{Fields, Value};

use super::{Reason, TOPIC_LIMIT};

/// Returns text, bytes that are valid UTF-8, or an integer or boolean as text; `None` for NULL.
pub fn text(field: &str, value: &Value) -> Result<Option<String>, Reason> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::Text(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Float(_) => return Err(Reason::NotText { field: field.to_owned() }),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(error) => return Err(Reason::NotUtf8 { field: field.to_owned(), at: error.valid_up_to() }),
        },
    };
    if text.contains('\0') {
        return Err(Reason::Nul { field: field.to_owned() });
    }
    Ok(Some(text))
}

/// Returns a key; `None` if it is empty: otherwise all rows without a key would wait for each other.
pub fn key(fields: &Fields, field: &'static str, limit: usize) -> Result<Option<String>, Reason> {
    let value = fields.get(field);
    if matches!(value, Value::Bool(_)) {
        return Err(Reason::NotText { field: field.to_owned() });
    }
    let Some(text) = text(field, value)?.filter(|text| !text.is_empty()) else { return Ok(None) };
    if text.len() > limit {
        return Err(Reason::Long { field, found: text.len() as u64, limit: limit as u64 });
    }
    Ok(Some(text))
}

/// Returns the topic and checks the rules that all brokers share; the transport checks those of its broker.
pub fn topic(fields: &Fields) -> Result<String, Reason> {
    let Some(topic) = key(fields, "topic", TOPIC_LIMIT)? else {
        return Err(Reason::Missing { field: "topic" });
    };
    match topic.chars().find(|found| found.is_whitespace() || found.is_control()) {
        Some(found) => Err(Reason::TopicCharacter { found }),
        None => Ok(topic),
    }
}

/// Returns the payload byte for byte. Numbers and booleans become JSON; NULL is an error of the producer.
pub fn payload(fields: &Fields, limit: u64) -> Result<Bytes, Reason> {
    let payload = match fields.get("payload") {
        Value::Null => return Err(Reason::Missing { field: "payload" }),
        Value::Text(text) => Bytes::copy_from_slice(text.as_bytes()),
        Value::Bytes(bytes) => Bytes::copy_from_slice(bytes),
        Value::Int(number) => number.to_string().into(),
        Value::Float(number) => number.to_string().into(),
        Value::Bool(truth) => truth.to_string().into(),
    };
    let found = payload.len() as u64;
    if found > limit { Err(Reason::Long { field: "payload", found, limit }) } else { Ok(payload) }
}
