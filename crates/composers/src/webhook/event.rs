//! Wraps the payload in a CloudEvents 1.0 envelope in JSON, for rows that are not `data_only` (rule J12).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use postrider_mail::date;
use postrider_seams::{Fields, Value};
use serde_json::{Map, json};

use super::{Reason, fields};

/// The content type of CloudEvents in JSON.
pub const CONTENT_TYPE: &str = "application/cloudevents+json; charset=utf-8";

/// Builds the envelope. JSON payloads are embedded byte for byte, other text as a string, other bytes in base64.
pub fn envelope(row: &Fields, id: &str, content_type: &str, payload: &Bytes) -> Result<Bytes, Reason> {
    let mut event = Map::new();
    let mut set = |name: &str, value: Option<String>| {
        event.extend(value.map(|value| (name.to_owned(), value.into())));
    };
    set("specversion", Some("1.0".to_owned()));
    set("id", Some(fields::text(row, "event")?.unwrap_or_else(|| id.to_owned())));
    set("source", Some(fields::text(row, "source")?.unwrap_or_else(|| "postrider".to_owned())));
    set("type", Some(fields::text(row, "code")?.ok_or(Reason::Missing { field: "code" })?));
    set("subject", fields::text(row, "subject")?);
    set("time", time(row)?);
    set("correlationid", fields::text(row, "correlation")?);
    set("jobid", Some(id.to_owned()));
    if payload.is_empty() {
        return Ok(to_json(&event, None));
    }
    event.insert("datacontenttype".to_owned(), content_type.into());
    if is_json(content_type) {
        let text = std::str::from_utf8(payload).map_err(|_| Reason::NotJson)?;
        serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|_| Reason::NotJson)?;
        return Ok(to_json(&event, Some(text)));
    }
    match std::str::from_utf8(payload) {
        Ok(text) => event.insert("data".to_owned(), json!(text)),
        Err(_) => event.insert("data_base64".to_owned(), json!(STANDARD.encode(payload))),
    };
    Ok(to_json(&event, None))
}

/// Writes the event with `data` as unchanged JSON text: numbers keep their digits, members their order.
fn to_json(event: &Map<String, serde_json::Value>, data: Option<&str>) -> Bytes {
    let mut text = serde_json::to_string(event).expect("a map of texts is JSON");
    if let Some(data) = data {
        text.pop();
        text.push_str(",\"data\":");
        text.push_str(data);
        text.push('}');
    }
    text.into()
}

fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind == "text/json" || kind.ends_with("+json")
}

fn time(row: &Fields) -> Result<Option<String>, Reason> {
    let seconds = match row.get("time") {
        Value::Int(number) => Some(date::from_epoch(*number)),
        _ => fields::text(row, "time")?.and_then(|text| date::parse(&text)),
    };
    Ok(seconds.map(date::rfc3339))
}
