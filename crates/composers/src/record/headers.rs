//! Headers of a record: from a JSON object, from one column each, and from the trace context.

use postrider_seams::{Fields, Value};

use super::{Reason, fields};

const NAME_LIMIT: usize = 256;

/// Header names and values, in the order in which they are sent.
pub type Headers = Vec<(String, String)>;

/// Adds a header, and removes others of that name, ignoring case.
pub fn set(headers: &mut Headers, name: &str, value: &str) {
    headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    headers.push((name.to_owned(), value.to_owned()));
}

/// Reads the headers of a row: `headers`, then `headers.NAME`, then `traceparent`; later ones override earlier ones.
pub fn from_row(row: &Fields) -> Result<Headers, Reason> {
    let mut headers = Headers::new();
    if let Some(json) = fields::text("headers", row.get("headers"))? {
        from_json(&json, &mut headers)?;
    }
    for (field, value) in row.iter() {
        let Some(name) = field.strip_prefix("headers.") else { continue };
        if let Some(text) = header_text(field, value)? {
            add(&mut headers, name, &text)?;
        }
    }
    if let Some(trace) = fields::text("traceparent", row.get("traceparent"))? {
        set(&mut headers, "traceparent", &trace);
    }
    Ok(headers)
}

fn header_text(field: &str, value: &Value) -> Result<Option<String>, Reason> {
    match value {
        Value::Float(number) => Ok(Some(number.to_string())),
        other => fields::text(field, other),
    }
}

fn from_json(json: &str, headers: &mut Headers) -> Result<(), Reason> {
    if json.trim().is_empty() {
        return Ok(());
    }
    let object = match serde_json::from_str(json) {
        Ok(serde_json::Value::Object(object)) => object,
        Ok(serde_json::Value::Null) => return Ok(()),
        Ok(_) | Err(_) => return Err(Reason::Headers),
    };
    for (name, value) in object {
        match value {
            serde_json::Value::Null => {}
            serde_json::Value::String(text) => add(headers, &name, &text)?,
            serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
                add(headers, &name, &value.to_string())?;
            }
            serde_json::Value::Array(_) | serde_json::Value::Object(_) => return Err(Reason::Headers),
        }
    }
    Ok(())
}

fn add(headers: &mut Headers, name: &str, value: &str) -> Result<(), Reason> {
    let is_valid = |byte: u8| byte.is_ascii_graphic() && byte != b':';
    if name.is_empty() || name.len() > NAME_LIMIT || !name.bytes().all(is_valid) {
        return Err(Reason::HeaderName);
    }
    if value.contains('\0') {
        return Err(Reason::Nul { field: format!("headers.{name}") });
    }
    set(headers, name, value);
    Ok(())
}
