//! Values that must not be seen: addresses with passwords in them, passwords, keys; and where they come from.

use std::fmt;
use std::path::Path;

/// A value that no log, error or `Debug` shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one who connects with it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Which references a setting may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum References {
    /// `env://NAME` and `file://path`.
    All,
    /// Only `env://NAME`: `file:` means something else there (the folder transport).
    Variables,
}

/// Follows a reference; a literal is its own value. The error says what would be right and never holds the value.
pub fn resolve(
    written: &str,
    allowed: References,
    base: &Path,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Secret, String> {
    if let Some(name) = written.strip_prefix("env://") {
        let found = variable(name).filter(|value| !value.is_empty());
        return found.map(Secret::new).ok_or_else(|| {
            format!(
                "names the environment variable `{name}`, which is not set: set it, or write the value here"
            )
        });
    }
    match written.strip_prefix("file://") {
        Some(path) if allowed == References::All => read(&base.join(path)),
        _ => Ok(Secret::new(written)),
    }
}

fn read(path: &Path) -> Result<Secret, String> {
    let shown = path.display();
    match std::fs::read_to_string(path) {
        // Editors and `echo` end a file with a line end that is no part of a password.
        Ok(text) => match text.trim_end_matches(['\r', '\n']) {
            "" => Err(format!("names the file {shown}, which is empty")),
            value => Ok(Secret::new(value)),
        },
        Err(error) => Err(format!("names the file {shown}, which can't be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(written: &str, allowed: References) -> Result<Secret, String> {
        let variable = |name: &str| (name == "PASSWORD").then(|| "hunter2".to_owned());
        resolve(written, allowed, Path::new("."), &variable)
    }

    #[test]
    fn a_reference_is_followed_and_never_shown() {
        let secret = resolved("env://PASSWORD", References::All).unwrap();
        assert_eq!(secret.expose(), "hunter2");
        assert!(!format!("{secret:?}").contains("hunter2"));
        let error = resolved("env://PASSWROD", References::All).unwrap_err();
        assert!(error.contains("`PASSWROD`"), "{error}");
    }

    #[test]
    fn a_file_loses_its_last_line_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        std::fs::write(&path, "hunter2\n").unwrap();
        let written = format!("file://{}", path.display());
        assert_eq!(resolved(&written, References::All).unwrap().expose(), "hunter2");
        assert_eq!(resolved(&written, References::Variables).unwrap().expose(), written);
        assert!(resolved("file:///nowhere/at/all", References::All).unwrap_err().contains("/nowhere/at/all"));
    }
}
