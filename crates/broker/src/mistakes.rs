//! Settings that can't work: every mistake at once, each with what would be right.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{broker} settings: {}", mistakes.join("; "))]
pub struct Mistakes {
    pub broker: &'static str,
    pub mistakes: Vec<String>,
}

impl Mistakes {
    /// `Ok` where there are none.
    pub fn check(broker: &'static str, mistakes: Vec<String>) -> Result<(), Self> {
        if mistakes.is_empty() { Ok(()) } else { Err(Self { broker, mistakes }) }
    }

    pub fn one(broker: &'static str, mistake: impl Into<String>) -> Self {
        Self { broker, mistakes: vec![mistake.into()] }
    }
}
