//! What can go wrong, in the terms of who asked.

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
    /// Something in the body.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        let field = field.into();
        Self { pointer: Some(pointer(&field)), field, message: message.into() }
    }

    /// A parameter, a header, or the state of something.
    pub fn beside(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), pointer: None, message: message.into() }
    }
}

/// `metadata[2].key` as `/metadata/2/key`. Names of headers may have dots, so what follows `headers.` is one name.
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

/// Why a client can't be named.
pub const NOT_YOURS: &str = "this key may not act for that client";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was said can't be: every mistake at once.
    #[error("{}", listed(.0))]
    Invalid(Vec<Fault>),
    /// There is no such thing, or none that this caller may know of: the two can't be told apart.
    #[error("no such {0}")]
    Absent(&'static str),
    /// It can be said, but not now: the state of things is against it.
    #[error("{message}")]
    Conflict { field: Option<&'static str>, message: String },
    /// A client that this caller may not act for.
    #[error("{0}: {NOT_YOURS}")]
    NotYours(&'static str),
    /// This caller may not.
    #[error("{message}")]
    Forbidden { field: &'static str, message: String },
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Error {
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![Fault::new(field, message)])
    }

    /// A parameter that can't be.
    pub fn parameter(name: &str, message: impl Into<String>) -> Self {
        Self::Invalid(vec![Fault::beside(name, message)])
    }

    /// The store can't do this very request, however often it is asked.
    pub(crate) fn is_permanent(&self) -> bool {
        matches!(self, Self::Store(error) if error.class == store::Class::Permanent)
    }

    pub fn conflict(field: &'static str, message: impl Into<String>) -> Self {
        Self::Conflict { field: Some(field), message: message.into() }
    }

    /// Our own table holds what it can't.
    pub(crate) fn broken(what: &str) -> Self {
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
        assert_eq!(Fault::beside("limit", "").pointer, None);
    }
}
