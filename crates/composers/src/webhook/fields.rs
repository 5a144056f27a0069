//! Reads column values of webhooks in the types in which databases return them.

use std::time::Duration;

use bytes::Bytes;
use postrider_seams::{Fields, Value};

use super::Reason;

/// Returns text, bytes that are valid UTF-8, or an integer as text; `None` for NULL and for empty text.
pub fn text(fields: &Fields, field: &'static str) -> Result<Option<String>, Reason> {
    let text = match fields.get(field) {
        Value::Null => return Ok(None),
        Value::Text(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        Value::Bool(_) | Value::Float(_) => return Err(Reason::NotText { field }),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(error) => return Err(Reason::NotUtf8 { field, at: error.valid_up_to() }),
        },
    };
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// Returns a boolean; databases without that type store 0 and 1, or text.
pub fn flag(fields: &Fields, field: &'static str) -> Result<Option<bool>, Reason> {
    match fields.get(field) {
        Value::Null => Ok(None),
        Value::Bool(flag) => Ok(Some(*flag)),
        Value::Int(0) => Ok(Some(false)),
        Value::Int(1) => Ok(Some(true)),
        Value::Bytes(bytes) if matches!(bytes[..], [0 | 1]) => Ok(Some(bytes[0] == 1)),
        Value::Text(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "1" => Ok(Some(true)),
            "false" | "f" | "0" => Ok(Some(false)),
            _ => Err(Reason::NotFlag { field }),
        },
        _ => Err(Reason::NotFlag { field }),
    }
}

/// Returns a timeout from a column with whole seconds; `None` for NULL. Zero and negative numbers are errors.
pub fn seconds(fields: &Fields, field: &'static str) -> Result<Option<Duration>, Reason> {
    let number = match fields.get(field) {
        Value::Null => return Ok(None),
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    };
    number
        .filter(|&seconds| seconds > 0)
        .map(|seconds| Some(Duration::from_secs(seconds)))
        .ok_or(Reason::Timeout)
}

/// Returns the payload byte for byte; NULL gives an empty body.
pub fn payload(fields: &Fields, limit: u64) -> Result<Bytes, Reason> {
    let payload = match fields.get("payload") {
        Value::Null => Bytes::new(),
        Value::Text(text) => Bytes::copy_from_slice(text.as_bytes()),
        Value::Bytes(bytes) => Bytes::copy_from_slice(bytes),
        Value::Int(number) => number.to_string().into(),
        Value::Float(number) => number.to_string().into(),
        Value::Bool(truth) => truth.to_string().into(),
    };
    let found = payload.len() as u64;
    if found > limit { Err(Reason::Long { found, limit }) } else { Ok(payload) }
}
