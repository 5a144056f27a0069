//! Secret references: URIs that say where a password, a token or a signing key is stored.
//!
//! | reference | where |
//! |---|---|
//! | `aws-secretsmanager://name` | AWS Secrets Manager: a name or an ARN |
//! | `aws-ssm://name` | AWS SSM Parameter Store |
//! | `gcp-secretmanager://projects/x/secrets/y[/versions/v]` | Google Secret Manager |
//! | `vault://path` | HashiCorp Vault or OpenBao, KV 1 and 2 |
//! | `encrypted://base64` | the reference itself, encrypted with a key of the operator |
//! | `env://NAME`, `file://path` | an environment variable, a file |
//!
//! `#field` at the end selects a member of a secret that is a JSON object.
//!
//! Owns: resolving references, the cache of resolved secrets, and the keys of `encrypted://`. Must not: log, store or
//! show a secret. Invariant: an error says where a secret is stored, never what it is.

#[cfg(feature = "aws")]
mod aws;
#[cfg(any(test, not(feature = "aws")))]
mod aws_left_out;
mod cache;
mod encrypted;
mod field;
mod gcp;
mod local;
mod resolver;
mod service_client;
mod vault;

pub use encrypted::{KeyError, Keyring};
pub use postrider_config::{Reference, Scheme};
pub use resolver::{DEFAULT_TTL, Environment, SecretResolver};
