//! The error of invalid options: all mistakes at once, each with its remedy.

/// All mistakes in the URL and options of one target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{target} settings: {}", mistakes.join("; "))]
pub struct InvalidOptions {
    /// The kind of target: `Kafka`.
    pub target: &'static str,
    pub mistakes: Vec<String>,
}

impl InvalidOptions {
    /// Returns `Ok` if there are no mistakes.
    pub fn check(target: &'static str, mistakes: Vec<String>) -> Result<(), Self> {
        if mistakes.is_empty() { Ok(()) } else { Err(Self { target, mistakes }) }
    }

    /// Creates an error with one mistake.
    pub fn one(target: &'static str, mistake: impl Into<String>) -> Self {
        Self { target, mistakes: vec![mistake.into()] }
    }
}
