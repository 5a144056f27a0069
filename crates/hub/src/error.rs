//! Errors of the hub, in the terms of the request that caused them.

use postrider_seams::store;

/// One mistake in a request: where it is and how to correct it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Fault {
    /// The member or parameter as the caller wrote it: `headers.Host`, `metadata[2].key`.
    pub field: String,
    /// Its place in the body as a JSON Pointer (RFC 6901): `/metadata/2/key`. Absent if the mistake is not in the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub pointer: Option<String>,
    /// What is wrong and what would be valid.
    pub message: String,
}

impl Fault {
    /// Creates a mistake in the body; its JSON Pointer follows from the field.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        let field = field.into();
        Self { pointer: Some(pointer(&field)), field, message: message.into() }
    }

    /// Creates a mistake outside the body: in a parameter, a header, or the state of a resource.
    pub fn outside_body(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), pointer: None, message: message.into() }
    }
}

/// Converts `metadata[2].key` to `/metadata/2/key`. Header names may contain dots: the text after `headers.` is one
/// name.
fn pointer(field: &str) -> String {
    if field == "body" {
        return String::new();
    }
    let (path, header) = match field.split_once("headers.") {
        Some((before, name)) => (format!("{before}headers"), Some(name)),
        None => (field.to_owned(), None),
    };
    let parts = path.split(['.', '[']).map(|part| part.strip_suffix(']').unwrap_or(part));
    let parts = parts.filter(|part| !part.is_empty()).chain(header);
    parts.flat_map(|part| ["/".to_owned(), part.replace('~', "~0").replace('/', "~1")]).collect()
}

/// The message for a request that names a client outside the scope of its key.
pub const CLIENT_NOT_ALLOWED: &str = "this key may not act for that client";

/// A failure of an operation of the hub.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request is invalid; lists every mistake.
    #[error("{}", listed(.0))]
    Invalid(Vec<Fault>),
    /// The resource does not exist, or the caller may not access it; the error is the same for both.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// The request is valid, but conflicts with the current state.
    #[error("{message}")]
    Conflict { field: Option<&'static str>, message: String },
    /// The request names a client that the caller may not act for.
    #[error("{0}: {CLIENT_NOT_ALLOWED}")]
    ClientNotAllowed(&'static str),
    /// The caller may not do this.
    #[error("{message}")]
    Forbidden { field: &'static str, message: String },
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Error {
    /// Creates an error for one invalid member of the body.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![Fault::new(field, message)])
    }

    /// Creates an error for an invalid query parameter or header.
    pub fn parameter(name: &str, message: impl Into<String>) -> Self {
        Self::Invalid(vec![Fault::outside_body(name, message)])
    }

    /// Whether the store can never execute this request, so that a retry is pointless.
    pub(crate) fn is_permanent(&self) -> bool {
        matches!(self, Self::Store(error) if error.class == store::Class::Permanent)
    }

    /// Creates a conflict with the current state, caused by this field.
    pub fn conflict(field: &'static str, message: impl Into<String>) -> Self {
        Self::Conflict { field: Some(field), message: message.into() }
    }

    /// Creates an error for a value in our own table that this version cannot read.
    pub(crate) fn unreadable(what: &str) -> Self {
        let text = format!("{what}: the table contains values that this version cannot read");
        Self::Store(store::Error::new(store::Class::Permanent, text))
    }
}

fn listed(faults: &[Fault]) -> String {
    let texts: Vec<String> =
        faults.iter().map(|fault| format!("{}: {}", fault.field, fault.message)).collect();
    texts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::Fault;

    #[test]
    fn a_fault_points_into_the_body() {
        for (field, pointer) in [
            ("code", "/code"),
            ("metadata[2].key", "/metadata/2/key"),
            ("[3].code", "/3/code"),
            ("jobs[0].headers.X.Y/z", "/jobs/0/headers/X.Y~1z"),
            ("webhookCredentials.authTokenRef", "/webhookCredentials/authTokenRef"),
            ("body", ""),
        ] {
            assert_eq!(Fault::new(field, "").pointer.as_deref(), Some(pointer), "{field}");
        }
        assert_eq!(Fault::outside_body("limit", "").pointer, None);
    }
}
