//! One span, as it is exported.

use tokio::time::Instant;

/// What OTLP calls a span's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Internal = 1,
    Client = 3,
    Producer = 4,
    Consumer = 5,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribute {
    Text(String),
    Int(i64),
}

#[derive(Debug, Clone)]
pub struct Span {
    pub trace: u128,
    pub id: u64,
    pub parent: Option<u64>,
    pub name: String,
    pub kind: Kind,
    pub start: Instant,
    pub end: Instant,
    pub attributes: Vec<(&'static str, Attribute)>,
    /// Why it failed, if it did. No secret in it.
    pub error: Option<String>,
}
