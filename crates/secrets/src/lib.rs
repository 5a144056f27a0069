//! Secret references: where a password, a token or a signing key is kept, written as a URI.
//!
//! | reference | where |
//! |---|---|
//! | `aws-secretsmanager://name` | AWS Secrets Manager: a name or an ARN |
//! | `aws-ssm://name` | AWS SSM Parameter Store |
//! | `gcp-secretmanager://projects/x/secrets/y[/versions/v]` | Google Secret Manager |
//! | `vault://path` | HashiCorp Vault or OpenBao, KV 1 and 2 |
//! | `encrypted://base64` | here: opened with a key of ours |
//! | `env://NAME`, `file://path` | the environment, a file |
//!
//! `#field` at the end picks a member of a secret that is a JSON object.
//!
//! Owns: following references, the cache of what they lead to, and the keys of `encrypted://`. Must not: log, store or
//! show a secret. Invariant: an error names the reference's place, never what is kept there.

mod aws;
mod cache;
mod encrypted;
mod gcp;
mod local;
mod pick;
mod reference;
mod safe;
mod vault;
mod web;

pub use encrypted::{KeyError, Keyring};
pub use reference::{Reference, Scheme};
pub use safe::{Environment, Safe, TTL};
