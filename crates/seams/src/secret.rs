//! A password, a token, a key: never shown, and wiped from memory when the last holder lets go.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use zeroize::Zeroizing;

#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    pub fn new(secret: impl Into<String>) -> Self {
        Self(Arc::new(Zeroizing::new(secret.into())))
    }

    /// The value itself, for the one who connects or signs with it, and for nothing else.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Why a reference leads to no secret. Says what to do, and holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The reference itself is wrong: no waiting helps.
    #[error("{0}")]
    Reference(String),
    /// There is no such secret, or we may not have it.
    #[error("{0}")]
    Refused(String),
    /// It can't be had now.
    #[error("{0}")]
    Away(String),
}

/// Follows references to secrets (`vault://…`, `env://…`). Safe to repeat; cancel-safe; cached, so it costs little.
#[async_trait]
pub trait Secrets: Send + Sync {
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
