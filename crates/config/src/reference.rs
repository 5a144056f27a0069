//! The syntax of secret references: scheme, path and field. The secrets themselves are fetched elsewhere.

/// The scheme of a reference: which service or source stores the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    AwsSecretsManager,
    AwsSsm,
    GcpSecretManager,
    Vault,
    Encrypted,
    Env,
    File,
}

/// Maximum length of a reference, in bytes: `encrypted://` contains the secret itself.
const MAX_LENGTH: usize = 64 * 1024;

/// A parsed reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference<'a> {
    pub scheme: Scheme,
    pub path: &'a str,
    /// Member to select of a secret that is a JSON object; `None`: the whole secret.
    pub field: Option<&'a str>,
}

impl Scheme {
    /// All schemes, in the order in which messages list them.
    pub const ALL: [Self; 7] = [
        Self::AwsSecretsManager,
        Self::AwsSsm,
        Self::GcpSecretManager,
        Self::Vault,
        Self::Encrypted,
        Self::Env,
        Self::File,
    ];

    /// Returns the name, which a reference has before `://`.
    pub fn name(self) -> &'static str {
        match self {
            Self::AwsSecretsManager => "aws-secretsmanager",
            Self::AwsSsm => "aws-ssm",
            Self::GcpSecretManager => "gcp-secretmanager",
            Self::Vault => "vault",
            Self::Encrypted => "encrypted",
            Self::Env => "env",
            Self::File => "file",
        }
    }

    /// Returns the text after `scheme://`; `None` if the text does not start with this scheme.
    pub fn strip(self, text: &str) -> Option<&str> {
        text.strip_prefix(self.name())?.strip_prefix("://")
    }

    /// Returns the scheme that the text starts with, and the text after `://`.
    pub fn split(text: &str) -> Option<(Self, &str)> {
        Self::ALL.into_iter().find_map(|scheme| Some((scheme, scheme.strip(text)?)))
    }

    /// Whether the secret is read on this machine, without a network request.
    pub fn is_local(self) -> bool {
        matches!(self, Self::Encrypted | Self::Env | Self::File)
    }
}

impl<'a> Reference<'a> {
    /// Whether the text starts with a known scheme; it may still be malformed.
    pub fn is_reference(text: &str) -> bool {
        Scheme::split(text).is_some()
    }

    /// Parses a reference. The error says what is expected and never repeats the path.
    pub fn parse(text: &'a str) -> Result<Self, String> {
        let Some((scheme, rest)) = Scheme::split(text) else {
            let names = Scheme::ALL.map(|scheme| format!("{}://", scheme.name())).join(", ");
            return Err(format!("a secret reference begins with one of {names}"));
        };
        let (path, field) = match rest.rsplit_once('#') {
            Some((path, field)) => (path, Some(field)),
            None => (rest, None),
        };
        let is_control = |c: char| c.is_control();
        if path.is_empty() || field == Some("") || text.len() > MAX_LENGTH || text.contains(is_control) {
            return Err("a secret reference is scheme://path or scheme://path#field".to_owned());
        }
        Ok(Self { scheme, path, field })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j11_every_scheme_is_read() {
        for (text, scheme, path, field) in [
            ("aws-secretsmanager://acme-token", Scheme::AwsSecretsManager, "acme-token", None),
            ("aws-ssm:///app/token", Scheme::AwsSsm, "/app/token", None),
            (
                "gcp-secretmanager://projects/x/secrets/y",
                Scheme::GcpSecretManager,
                "projects/x/secrets/y",
                None,
            ),
            ("vault://secret/app#token", Scheme::Vault, "secret/app", Some("token")),
            ("encrypted://AbC_-", Scheme::Encrypted, "AbC_-", None),
            ("env://TOKEN", Scheme::Env, "TOKEN", None),
            ("file:///run/secrets/a#b", Scheme::File, "/run/secrets/a", Some("b")),
        ] {
            assert_eq!(Reference::parse(text).unwrap(), Reference { scheme, path, field });
            assert!(Reference::is_reference(text));
        }
    }

    #[test]
    fn what_is_no_reference_is_refused_without_being_repeated() {
        for text in [
            "",
            "hunter2",
            "vault:hunter2",
            "vault://",
            "vault://#a",
            "vault://hunter2#",
            "VAULT://hunter2",
            "env://a\nb",
        ] {
            let error = Reference::parse(text).unwrap_err();
            assert!(!error.contains("hunter2"), "{error}");
        }
        assert!(!Reference::is_reference("postgres://app:hunter2@db"));
    }
}
