//! A password, token or key: never printed, and wiped from memory when the last reference is dropped.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use zeroize::Zeroizing;

/// A secret value whose `Debug` output hides it; cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    /// Wraps a secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(Arc::new(Zeroizing::new(secret.into())))
    }

    /// Returns the value itself, only for code that connects or signs with it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// An error of a secret reference. Says what to do; contains no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The reference itself is invalid: a retry does not help.
    #[error("{0}")]
    Reference(String),
    /// The secret does not exist, or we have no permission to read it.
    #[error("{0}")]
    Refused(String),
    /// The secret cannot be read now; a retry may help.
    #[error("{0}")]
    Unavailable(String),
}

/// Resolves references to secrets (`vault://…`, `env://…`). Idempotent, cancel-safe and cached, so that calls are
/// cheap.
#[async_trait]
pub trait Secrets: Send + Sync {
    /// Returns the secret that a reference names.
    async fn secret(&self, reference: &str) -> Result<Secret, Error>;
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_shown() {
        assert_eq!(format!("{:?}", Some(Secret::new("hunter2"))), "Some(Secret(…))");
    }
}
