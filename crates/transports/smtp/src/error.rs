//! Errors of the settings and of connections. None contains a secret.

/// Invalid settings: all mistakes at once, without secrets.
pub use postrider_target_options::InvalidOptions as Error;

pub(crate) const TARGET: &str = "SMTP";

/// The reason why a connection cannot be opened or used any further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConnectionError {
    /// No usable connection: name, TCP, TLS, greeting, or a temporary refusal.
    #[error("{reason}")]
    Unreachable { reason: String, slow: bool },
    /// This machine has no descriptors, memory or local ports left: no connection was attempted.
    #[error("{0}")]
    Exhausted(String),
    /// The relay refuses us, or we must not trust it: an operator must act.
    #[error("{0}")]
    Refused(String),
    /// The connection broke, timed out, or does not speak SMTP.
    #[error("{0}")]
    Lost(String),
}

impl ConnectionError {
    /// Converts an error of the name lookup or the connect.
    pub(crate) fn from_dial(what: &str, error: &std::io::Error) -> Self {
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
    fn exhausted_descriptors_are_no_fault_of_the_relay() {
        let error =
            |code| ConnectionError::from_dial("no connection", &std::io::Error::from_raw_os_error(code));
        for code in [12, 23, 24, 99, 105] {
            assert!(matches!(error(code), ConnectionError::Exhausted(_)), "{code}");
        }
        assert!(matches!(error(111), ConnectionError::Unreachable { slow: false, .. }));
    }
}
