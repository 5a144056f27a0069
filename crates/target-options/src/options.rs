//! Options of a URL: read one by one; an option that is never read is a mistake.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use postrider_config::{closest, duration_or_seconds, suggestion};

use crate::OptionMistake;

/// The options, and the mistakes found so far.
#[derive(Default)]
pub struct UrlOptions {
    pairs: Vec<(String, String)>,
    known: Vec<&'static str>,
    mistakes: Vec<OptionMistake>,
}

impl UrlOptions {
    pub(crate) fn new(pairs: Vec<(String, String)>) -> Self {
        Self { pairs, known: Vec::new(), mistakes: Vec::new() }
    }

    /// Adds a mistake, which [`UrlOptions::finish`] returns.
    pub fn mistake(&mut self, mistake: impl Into<OptionMistake>) {
        self.mistakes.push(mistake.into());
    }

    /// Whether the option is set.
    pub fn has(&mut self, name: &'static str) -> bool {
        self.known.push(name);
        self.pairs.iter().any(|(known, _)| known == name)
    }

    /// Removes an option and returns its value; the last one of that name wins.
    pub fn text(&mut self, name: &'static str) -> Option<String> {
        self.known.push(name);
        let found = self.pairs.iter().rposition(|(known, _)| known == name)?;
        let (_, value) = self.pairs.remove(found);
        self.pairs.retain(|(known, _)| known != name);
        Some(value)
    }

    /// Parses an option into `place`, which keeps its value if the option is not set. `what` names the expected value.
    pub fn read<T: FromStr>(&mut self, name: &'static str, what: &str, place: &mut T) {
        let Some(text) = self.text(name) else { return };
        match text.parse() {
            Ok(value) => *place = value,
            Err(_) => self.mistake(OptionMistake::of(name, format!("must be {what}"))),
        }
    }

    /// Parses a duration: `500ms`, `30s`, `5m`; a bare number is seconds.
    pub fn duration(&mut self, name: &'static str, place: &mut Duration) {
        let Some(text) = self.text(name) else { return };
        match duration_or_seconds(&text) {
            Ok(duration) => *place = duration,
            Err(_) => {
                self.mistake(OptionMistake::of(name, "must be a duration, such as 500ms, 30s or 5m"));
            }
        }
    }

    /// Parses a duration above zero.
    pub fn positive_duration(&mut self, name: &'static str, place: &mut Duration) {
        let Some(text) = self.text(name) else { return };
        match duration_or_seconds(&text) {
            Ok(duration) if !duration.is_zero() => *place = duration,
            _ => self
                .mistake(OptionMistake::of(name, "must be a duration above zero, such as 500ms, 30s or 5m")),
        }
    }

    /// Parses an option with a fixed list of values; another value is a mistake.
    pub fn choice<T: Clone>(&mut self, name: &'static str, choices: &[(&str, T)], place: &mut T) {
        let Some(text) = self.text(name) else { return };
        if let Some((_, value)) = choices.iter().find(|(known, _)| *known == text) {
            *place = value.clone();
            return;
        }
        let known: Vec<&str> = choices.iter().map(|(known, _)| *known).collect();
        let mistake = OptionMistake::of(name, format!("must be one of {}", known.join(", ")));
        // The list itself says what is known, if no value is close.
        let close = closest(&text, known).map(|close| format!("did you mean `{close}`?"));
        self.mistake(mistake.with_remedy(close.unwrap_or_default()));
    }

    /// Reads the PEM files of a client certificate and its key; one without the other is a mistake.
    pub fn certificate(&mut self) -> Option<(PathBuf, PathBuf)> {
        let (certificate, key) = (self.text("cert_file"), self.text("key_file"));
        let (set, missing) = match (certificate, key) {
            (Some(certificate), Some(key)) => return Some((certificate.into(), key.into())),
            (None, None) => return None,
            (Some(_), None) => ("cert_file", "key_file"),
            (None, Some(_)) => ("key_file", "cert_file"),
        };
        self.mistake(OptionMistake::of(set, format!("needs {missing}")));
        None
    }

    /// Returns all mistakes, those of unknown options included.
    pub fn finish(mut self) -> Vec<OptionMistake> {
        self.known.sort_unstable();
        self.known.dedup();
        for (name, _) in &self.pairs {
            let suggestion = suggestion(name, self.known.iter().copied());
            let mistake = OptionMistake::of(name, "is not an option of this target");
            self.mistakes.push(mistake.with_remedy(suggestion));
        }
        self.mistakes
    }
}

/// Shows names only: values may be secrets.
impl fmt::Debug for UrlOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.pairs.iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests;
