//! What can go wrong, in the terms of who asked.

use postrider_seams::store;

/// One thing that a caller said wrong: where, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Fault {
    /// The field, as the caller wrote it: `headers.Host`, `metadata[2].key`.
    pub field: String,
    pub message: String,
}

impl Fault {
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

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
    /// This caller may not.
    #[error("{0}")]
    Forbidden(String),
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Error {
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![Fault::new(field, message)])
    }

    pub fn conflict(field: &'static str, message: impl Into<String>) -> Self {
        Self::Conflict { field: Some(field), message: message.into() }
    }

    /// Our own table holds what it can't.
    pub(crate) fn broken(what: &str) -> Self {
        let text = format!("{what}: the table holds what this version can't read");
        Self::Store(store::Error::new(store::Class::Permanent, text))
    }
}

fn listed(faults: &[Fault]) -> String {
    let texts: Vec<String> =
        faults.iter().map(|fault| format!("{}: {}", fault.field, fault.message)).collect();
    texts.join("; ")
}
