//! Reads the row's HTTP headers: a JSON object, and one field each, which win. The transport sets `Host` and the signature; a row cannot replace them.

use postrider_seams::Fields;
use serde_json::Value;

use super::{Reason, fields};

/// Size limit of all names and values, in bytes: servers refuse more than about 8 to 16 KiB.
const SIZE_LIMIT: usize = 8 * 1024;
const TRACEPARENT: &str = "traceparent";

/// Returns the row's headers, and its trace context if the row has a column for it.
pub fn from_row(row: &Fields) -> Result<Vec<(String, String)>, Reason> {
    let mut headers = from_json(row)?;
    for (field, value) in row.iter() {
        let Some(name) = field.strip_prefix("headers.") else { continue };
        let text = crate::text::scalar(value).map_err(|_| Reason::HeaderUtf8 { name: name.to_owned() })?;
        if let Some(text) = text {
            check(name, &text)?;
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            headers.push((name.to_owned(), text.into_owned()));
        }
    }
    let size: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if size > SIZE_LIMIT {
        return Err(Reason::HeadersLong { limit: SIZE_LIMIT });
    }
    if let Some(parent) = fields::text(row, TRACEPARENT)?
        && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(TRACEPARENT))
    {
        check(TRACEPARENT, &parent)?;
        headers.push((TRACEPARENT.to_owned(), parent));
    }
    Ok(headers)
}

fn from_json(row: &Fields) -> Result<Vec<(String, String)>, Reason> {
    let Some(json) = fields::text(row, "headers")? else { return Ok(Vec::new()) };
    let object = match serde_json::from_str(&json) {
        Ok(Value::Object(object)) => object,
        Ok(Value::Null) => return Ok(Vec::new()),
        Ok(_) | Err(_) => return Err(Reason::Headers),
    };
    let mut headers = Vec::with_capacity(object.len());
    for (name, value) in object {
        let value = match value {
            Value::Null => continue,
            Value::String(text) => text,
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Array(_) | Value::Object(_) => return Err(Reason::Headers),
        };
        check(&name, &value)?;
        headers.push((name, value));
    }
    Ok(headers)
}

/// Checks that HTTP can carry this header, and that it cannot inject another one (RFC 9110).
pub fn check(name: &str, value: &str) -> Result<(), Reason> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(Reason::HeaderName);
    }
    if value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
        return Err(Reason::HeaderValue { name: name.to_owned() });
    }
    Ok(())
}
