//! Errors of settings: all mistakes at once, each with its remedy.

/// All mistakes in the settings of one broker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{broker} settings: {}", mistakes.join("; "))]
pub struct Mistakes {
    pub broker: &'static str,
    pub mistakes: Vec<String>,
}

impl Mistakes {
    /// Returns `Ok` if there are no mistakes.
    pub fn check(broker: &'static str, mistakes: Vec<String>) -> Result<(), Self> {
        if mistakes.is_empty() { Ok(()) } else { Err(Self { broker, mistakes }) }
    }

    /// Creates an error with one mistake.
    pub fn one(broker: &'static str, mistake: impl Into<String>) -> Self {
        Self { broker, mistakes: vec![mistake.into()] }
    }
}
