//! The error of invalid options: all mistakes at once, each with its option and its remedy.

use std::fmt;

/// One mistake in the URL or the options of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionMistake {
    /// The option's name; `None` if the mistake concerns the URL.
    pub option: Option<String>,
    /// What is wrong; continues a sentence after the option's name.
    pub what: String,
    /// How to fix it; empty if `what` already says so.
    pub remedy: String,
}

impl OptionMistake {
    /// Creates a mistake of one option; `what` continues a sentence after its name.
    pub fn of(option: impl Into<String>, what: impl Into<String>) -> Self {
        Self { option: Some(option.into()), what: what.into(), remedy: String::new() }
    }

    /// Returns what is wrong and how to fix it, without the option's name.
    pub fn text(&self) -> String {
        if self.remedy.is_empty() { self.what.clone() } else { format!("{}; {}", self.what, self.remedy) }
    }

    /// Adds how to fix it.
    #[must_use]
    pub fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }
}

/// A mistake that concerns the URL.
impl From<String> for OptionMistake {
    fn from(what: String) -> Self {
        Self { option: None, what, remedy: String::new() }
    }
}

/// A mistake that concerns the URL.
impl From<&str> for OptionMistake {
    fn from(what: &str) -> Self {
        Self::from(what.to_owned())
    }
}

impl fmt::Display for OptionMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(option) = &self.option {
            write!(f, "{option} ")?;
        }
        f.write_str(&self.text())
    }
}

/// All mistakes in the URL and options of one target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{target} settings: {}", .mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct InvalidOptions {
    /// The kind of target: `Kafka`.
    pub target: &'static str,
    pub mistakes: Vec<OptionMistake>,
}

impl InvalidOptions {
    /// Returns `Ok` if there are no mistakes.
    pub fn check(target: &'static str, mistakes: Vec<OptionMistake>) -> Result<(), Self> {
        if mistakes.is_empty() { Ok(()) } else { Err(Self { target, mistakes }) }
    }

    /// Creates an error with one mistake.
    pub fn one(target: &'static str, mistake: impl Into<OptionMistake>) -> Self {
        Self { target, mistakes: vec![mistake.into()] }
    }
}
