//! Encoding of spans as OTLP/JSON, which collectors accept at `/v1/traces`.

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::span::{AttributeValue, Span};

/// The monotonic clock and the wall clock, read once at the same moment, to convert the times of spans.
#[derive(Debug, Clone, Copy)]
pub struct Anchor {
    instant: Instant,
    nanos: u128,
}

impl Anchor {
    /// Reads both clocks.
    #[expect(
        clippy::disallowed_methods,
        reason = "a collector wants the time of day; no row is decided by it"
    )]
    pub fn now() -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self { instant: Instant::now(), nanos: since.as_nanos() }
    }

    /// Returns nanoseconds since 1970 as a string, which is how OTLP/JSON encodes 64-bit numbers.
    fn nanos(&self, at: Instant) -> String {
        let after = at.saturating_duration_since(self.instant).as_nanos();
        let before = self.instant.saturating_duration_since(at).as_nanos();
        (self.nanos + after).saturating_sub(before).to_string()
    }
}

/// Encodes spans as the body of one export request.
pub fn encode(spans: &[Span], resource: &[(String, String)], anchor: &Anchor) -> Vec<u8> {
    let spans: Vec<Value> = spans.iter().map(|span| encode_span(span, anchor)).collect();
    let resource: Vec<Value> =
        resource.iter().map(|(name, value)| pair(name, &json!({ "stringValue": value }))).collect();
    let scope = json!({ "name": "postrider", "version": env!("CARGO_PKG_VERSION") });
    json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{ "scope": scope, "spans": spans }],
    }] })
    .to_string()
    .into_bytes()
}

fn encode_span(span: &Span, anchor: &Anchor) -> Value {
    let attributes: Vec<Value> = span
        .attributes
        .iter()
        .map(|(name, value)| match value {
            AttributeValue::Text(text) => pair(name, &json!({ "stringValue": text })),
            AttributeValue::Int(number) => pair(name, &json!({ "intValue": number.to_string() })),
        })
        .collect();
    let mut encoded = json!({
        "traceId": format!("{:032x}", span.trace),
        "spanId": format!("{:016x}", span.id),
        "name": span.name,
        "kind": span.kind as i32,
        "startTimeUnixNano": anchor.nanos(span.start),
        "endTimeUnixNano": anchor.nanos(span.end),
        "attributes": attributes,
        "status": match &span.error {
            Some(why) => json!({ "code": 2, "message": why }),
            None => json!({}),
        },
    });
    if let Some(parent) = span.parent {
        encoded["parentSpanId"] = format!("{parent:016x}").into();
    }
    encoded
}

fn pair(name: &str, value: &Value) -> Value {
    json!({ "key": name, "value": value })
}
