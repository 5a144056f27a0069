//! Resolves secret references in settings, so that secrets can be kept outside the file.

use std::sync::Arc;

use postrider_seams::{Secret, Secrets as _, scrub};
use postrider_secrets::{Reference, SecretResolver};

/// The secret references that a setting may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum References {
    All,
    /// All except `file://`, which is the folder transport there.
    NoFiles,
}

/// Resolves a reference; a literal is its own value. The error describes what would be valid, without the value.
pub fn resolve(
    written: &str,
    allowed: References,
    follow: &dyn Fn(&str) -> Result<Secret, String>,
) -> Result<Secret, String> {
    let file = allowed == References::NoFiles && written.starts_with("file://");
    if file || !Reference::is_reference(written) {
        scrub::register_lasting(written);
        return Ok(Secret::new(written));
    }
    let found = follow(written)?;
    scrub::register_lasting(found.reveal());
    Ok(found)
}

/// Resolves a reference and blocks until it is done, inside or outside a runtime: settings are read before all else.
pub fn follow(safe: &Arc<SecretResolver>, reference: &str) -> Result<Secret, String> {
    let (safe, reference) = (Arc::clone(safe), reference.to_owned());
    let fetch = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("cannot start a thread: {error}"))?;
        runtime.block_on(safe.secret(&reference)).map_err(|error| format!("is a secret reference: {error}"))
    };
    std::thread::spawn(fetch).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use postrider_secrets::{Environment, Keyring};

    use super::*;

    fn resolved(written: &str, allowed: References) -> Result<Secret, String> {
        let key = Keyring::generate_key("k");
        let encrypted = Keyring::parse(key.reveal()).unwrap().encrypt("hunter3").unwrap();
        let variables = [("PASSWORD", "hunter2"), ("POSTRIDER_SECRET_KEY", key.reveal())];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let safe = Arc::new(SecretResolver::new(Environment::new(variables, "")));
        let written = written.replace("SEALED", &encrypted);
        resolve(&written, allowed, &|reference| follow(&safe, reference))
    }

    #[test]
    fn a_reference_is_followed_and_never_shown() {
        let secret = resolved("env://PASSWORD", References::All).unwrap();
        assert_eq!(secret.reveal(), "hunter2");
        assert_eq!(resolved("SEALED", References::NoFiles).unwrap().reveal(), "hunter3");
        let error = resolved("env://PASSWROD", References::All).unwrap_err();
        assert!(error.contains("`PASSWROD`"), "{error}");
        assert_eq!(
            resolved("postgres://app@db/app", References::All).unwrap().reveal(),
            "postgres://app@db/app"
        );
    }

    #[tokio::test]
    async fn a_file_loses_its_last_line_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        std::fs::write(&path, "hunter2\n").unwrap();
        let written = format!("file://{}", path.display());
        assert_eq!(resolved(&written, References::All).unwrap().reveal(), "hunter2");
        assert_eq!(resolved(&written, References::NoFiles).unwrap().reveal(), written);
        assert!(resolved("file:///nowhere/at/all", References::All).unwrap_err().contains("/nowhere/at/all"));
    }
}
