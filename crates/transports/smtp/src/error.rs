//! Errors: what is wrong with the settings, and why a connection can't be had or kept. None holds a secret.

/// Settings that can't work: every mistake at once, each with what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("SMTP settings: {}", mistakes.join("; "))]
pub struct Error {
    pub mistakes: Vec<String>,
}

impl Error {
    pub(crate) fn one(mistake: impl Into<String>) -> Self {
        Self { mistakes: vec![mistake.into()] }
    }
}

/// Why a connection can't be had, or can't go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// No connection that we may speak on: name, TCP, TLS, greeting, or "come back later".
    #[error("{reason}")]
    Unreachable { reason: String, slow: bool },
    /// The relay refuses us, or we must not trust it: an operator must act.
    #[error("{0}")]
    Refused(String),
    /// The connection broke, fell silent, or speaks no SMTP.
    #[error("{0}")]
    Lost(String),
}

impl Fault {
    pub(crate) fn unreachable(reason: impl Into<String>) -> Self {
        Self::Unreachable { reason: reason.into(), slow: false }
    }
}
