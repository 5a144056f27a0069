//! The resolver of all references, with its environment and cache.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use async_trait::async_trait;
use postrider_config::{Reference, Scheme};
use postrider_http::Roots;
use postrider_seams::secret::Error;
use postrider_seams::{Secret, Secrets, scrub};

#[cfg(feature = "aws")]
use crate::aws::{Aws, Service};
#[cfg(not(feature = "aws"))]
use crate::aws_left_out::{Aws, Service};
use crate::cache::Cache;
use crate::encrypted::{KeyError, Keyring};
use crate::field::select_field;
use crate::gcp::Gcp;
use crate::local;
use crate::service_client::ServiceClient;
use crate::vault::Vault;

/// The default time for which a resolved secret is cached.
pub const DEFAULT_TTL: Duration = Duration::from_mins(5);
/// Time limit of a lookup, whichever service stores the secret.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(20);

/// Environment variables whose values are secrets, which are removed from all logs.
const SECRET_VARIABLES: [&str; 5] =
    ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "POSTRIDER_SECRET_KEY", "VAULT_TOKEN", "VAULT_SECRET_ID"];

/// The environment variables of a process, and the folder that relative file names refer to.
#[derive(Clone, Default)]
pub struct Environment {
    variables: HashMap<String, String>,
    pub(crate) base: PathBuf,
}

impl Environment {
    /// Creates an environment, and registers the secrets among its variables so that logs never show them.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>, base: impl Into<PathBuf>) -> Self {
        let variables: HashMap<String, String> = variables.into_iter().collect();
        let secrets = SECRET_VARIABLES.iter().filter_map(|name| variables.get(*name));
        secrets.for_each(|secret| scrub::register_lasting(secret));
        Self { variables, base: base.into() }
    }

    /// Returns the value of a variable; `None` if it is unset or empty.
    pub fn get(&self, name: &str) -> Option<String> {
        self.variables.get(name).filter(|value| !value.is_empty()).cloned()
    }

    /// Reads the keys of `encrypted://` from `POSTRIDER_SECRET_KEY`, or from the file in `POSTRIDER_SECRET_KEY_FILE`.
    ///
    /// The error says which variable is missing or invalid.
    pub fn keyring(&self) -> Result<Keyring, String> {
        let keys = match (self.get("POSTRIDER_SECRET_KEY"), self.get("POSTRIDER_SECRET_KEY_FILE")) {
            (Some(keys), _) => Secret::new(keys),
            (None, Some(file)) => {
                let path = self.base.join(file);
                let read = std::fs::read_to_string(&path);
                Secret::new(
                    read.map_err(|error| format!("POSTRIDER_SECRET_KEY_FILE {}: {error}", path.display()))?,
                )
            }
            (None, None) => return Err(KeyError::None.to_string()),
        };
        Keyring::parse(keys.reveal()).map_err(|error| error.to_string())
    }
}

/// Resolves references and caches the secrets.
pub struct SecretResolver {
    environment: Environment,
    cache: Cache,
    client: OnceLock<Result<ServiceClient, Error>>,
    vault_client: OnceLock<Result<ServiceClient, Error>>,
    keyring: OnceLock<Result<Keyring, Error>>,
    aws: Aws,
    gcp: Gcp,
    vault: Vault,
}

impl SecretResolver {
    /// Creates a resolver with the default cache time. It makes no request before the first reference is resolved.
    pub fn new(environment: Environment) -> Self {
        Self::with_ttl(environment, DEFAULT_TTL)
    }

    /// Creates a resolver that caches secrets for `ttl`; zero disables the cache.
    pub fn with_ttl(environment: Environment, ttl: Duration) -> Self {
        Self {
            environment,
            cache: Cache::new(ttl),
            client: OnceLock::new(),
            vault_client: OnceLock::new(),
            keyring: OnceLock::new(),
            aws: Aws::default(),
            gcp: Gcp::default(),
            vault: Vault::default(),
        }
    }

    /// Sets the time for which secrets are cached, from the next lookup on.
    pub fn set_ttl(&self, ttl: Duration) {
        self.cache.set_ttl(ttl);
    }

    /// Encrypts a secret with the first key and returns an `encrypted://` reference. The error says what to configure.
    pub fn encrypt(&self, secret: &str) -> Result<String, String> {
        scrub::register(secret);
        let keys = self.keyring().map_err(|error| error.to_string())?;
        keys.encrypt(secret).map_err(|error| error.to_string())
    }

    /// Encrypts the secret of a reference again with the first key; `None` if it already uses that key.
    pub fn reencrypt(&self, reference: &str) -> Result<Option<String>, String> {
        let keys = self.keyring().map_err(|error| error.to_string())?;
        let (encrypted, field) = match reference.split_once('#') {
            Some((encrypted, field)) => (encrypted, format!("#{field}")),
            None => (reference, String::new()),
        };
        let reencrypted = keys.reencrypt(encrypted).map_err(|error| error.to_string())?;
        Ok(reencrypted.map(|reencrypted| reencrypted + &field))
    }

    async fn look_up(&self, reference: &Reference<'_>) -> Result<Secret, Error> {
        let (environment, path) = (&self.environment, reference.path);
        let whole = match reference.scheme {
            Scheme::AwsSecretsManager => {
                self.aws.fetch(self.client()?, environment, Service::SecretsManager, path).await?
            }
            Scheme::AwsSsm => self.aws.fetch(self.client()?, environment, Service::Ssm, path).await?,
            Scheme::GcpSecretManager => self.gcp.fetch(self.client()?, environment, path).await?,
            // Secrets of Vault are always objects; `fetch` selects the member itself.
            Scheme::Vault => {
                return self.vault.fetch(self.vault_client()?, environment, path, reference.field).await;
            }
            Scheme::Encrypted => self.keyring()?.decrypt(path)?,
            Scheme::Env => local::variable(environment, path)?,
            Scheme::File => local::file(&environment.base, path).await?,
        };
        reference.field.map_or(Ok(whole.clone()), |field| select_field(&whole, field))
    }

    fn client(&self) -> Result<&ServiceClient, Error> {
        self.client.get_or_init(|| ServiceClient::new(Roots::BuiltIn)).as_ref().map_err(Clone::clone)
    }

    fn vault_client(&self) -> Result<&ServiceClient, Error> {
        let client = self.vault_client.get_or_init(|| {
            let Some(file) = self.environment.get("VAULT_CACERT") else {
                return ServiceClient::new(Roots::BuiltIn);
            };
            let pem = std::fs::read(self.environment.base.join(&file))
                .map_err(|error| Error::Reference(format!("VAULT_CACERT {file}: {error}")))?;
            ServiceClient::new(Roots::BuiltInAnd(pem))
        });
        client.as_ref().map_err(Clone::clone)
    }

    fn keyring(&self) -> Result<&Keyring, Error> {
        self.keyring
            .get_or_init(|| self.environment.keyring().map_err(Error::Unavailable))
            .as_ref()
            .map_err(Clone::clone)
    }
}

/// Shows neither secrets nor the environment.
impl std::fmt::Debug for SecretResolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Safe(…)")
    }
}

/// Removes known secrets from an error, because a service may repeat our token or a secret in its message.
fn scrubbed(error: Error) -> Error {
    match error {
        Error::Reference(text) => Error::Reference(scrub::scrubbed(text)),
        Error::Refused(text) => Error::Refused(scrub::scrubbed(text)),
        Error::Unavailable(text) => Error::Unavailable(scrub::scrubbed(text)),
    }
}

#[async_trait]
impl Secrets for SecretResolver {
    async fn secret(&self, reference: &str) -> Result<Secret, Error> {
        let parsed = Reference::parse(reference).map_err(Error::Reference)?;
        let look_up = async || {
            let timed_out = || Error::Unavailable("the secret was not read in time".to_owned());
            let found = tokio::time::timeout(LOOKUP_TIMEOUT, self.look_up(&parsed))
                .await
                .map_err(|_| timed_out())??;
            scrub::register(found.reveal());
            Ok(found)
        };
        self.cache.get(reference, look_up).await.map_err(scrubbed)
    }
}
