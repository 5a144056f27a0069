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
    /// This machine has no descriptors, memory or local ports left: nothing was tried.
    #[error("{0}")]
    Exhausted(String),
    /// The relay refuses us, or we must not trust it: an operator must act.
    #[error("{0}")]
    Refused(String),
    /// The connection broke, fell silent, or speaks no SMTP.
    #[error("{0}")]
    Lost(String),
}

impl Fault {
    /// Why a name or an address could not be had.
    pub(crate) fn dialling(what: &str, error: &std::io::Error) -> Self {
        let reason = format!("{what}: {error}");
        if postrider_seams::is_exhausted(error) { Self::Exhausted(reason) } else { Self::unreachable(reason) }
    }

    pub(crate) fn unreachable(reason: impl Into<String>) -> Self {
        Self::Unreachable { reason: reason.into(), slow: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_descriptors_is_no_fault_of_the_relay() {
        let fault = |code| Fault::dialling("no connection", &std::io::Error::from_raw_os_error(code));
        for code in [12, 23, 24, 99, 105] {
            assert!(matches!(fault(code), Fault::Exhausted(_)), "{code}");
        }
        assert!(matches!(fault(111), Fault::Unreachable { slow: false, .. }));
    }
}
