//! A span with the data that is exported.

use tokio::time::Instant;

/// The kind of a span, with its number in OTLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    Internal = 1,
    Client = 3,
    Producer = 4,
    Consumer = 5,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeValue {
    Text(String),
    Int(i64),
}

/// A finished span.
#[derive(Debug, Clone)]
pub struct Span {
    pub trace: u128,
    pub id: u64,
    pub parent: Option<u64>,
    pub name: String,
    pub kind: SpanKind,
    pub start: Instant,
    pub end: Instant,
    pub attributes: Vec<(&'static str, AttributeValue)>,
    /// Reason of the failure; `None` if the span succeeded. It must not contain a secret.
    pub error: Option<String>,
}
