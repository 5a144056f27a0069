//! Reasons why a row cannot be composed into a request. Every reason names the field and what is wrong with it.

/// The reason why a row cannot be composed into a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("the row's fields were not loaded")]
    NotLoaded,
    #[error("{field}: empty; every webhook needs one")]
    Missing { field: &'static str },
    #[error("{field}: neither text nor a whole number")]
    NotText { field: &'static str },
    #[error("{field}: not valid UTF-8 (first wrong byte at {at})")]
    NotUtf8 { field: &'static str, at: usize },
    #[error("{field}: neither true nor false")]
    NotFlag { field: &'static str },
    #[error("timeout: must be a whole number of seconds, at least 1")]
    Timeout,
    #[error("payload: {found} bytes, more than the limit of {limit}")]
    Long { found: u64, limit: u64 },
    #[error("payload: not valid JSON, although its content type is JSON")]
    NotJson,
    #[error("headers: must be a JSON object of texts, numbers and booleans")]
    Headers,
    #[error("headers: more than {limit} bytes together")]
    HeadersLong { limit: usize },
    #[error("headers: a name may contain only letters, digits and !#$%&'*+-.^_`|~")]
    HeaderName,
    #[error("headers.{name}: not valid UTF-8")]
    HeaderUtf8 { name: String },
    #[error("headers.{name}: the value contains a control character")]
    HeaderValue { name: String },
}
