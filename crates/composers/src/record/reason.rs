//! Reasons why a row cannot be composed into a record. Every reason names the field and what is wrong with it.

/// The reason why a row cannot be composed into a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("the row's fields were not loaded")]
    NotLoaded,
    #[error("{field}: empty; every record needs one")]
    Missing { field: &'static str },
    #[error("{field}: not valid UTF-8 (first wrong byte at {at})")]
    NotUtf8 { field: String, at: usize },
    #[error("{field}: neither text nor a whole number")]
    NotText { field: String },
    #[error("{field}: contains a NUL")]
    Nul { field: String },
    #[error("topic: contains {found:?}; a topic must not contain blanks or control characters")]
    TopicCharacter { found: char },
    #[error("{field}: {found} bytes, more than the limit of {limit}")]
    Long { field: &'static str, found: u64, limit: u64 },
    #[error("headers: must be a JSON object of texts, numbers and booleans")]
    Headers,
    #[error("headers: a name must be 1 to 256 visible ASCII characters without a colon")]
    HeaderName,
}
