//! Service accounts: the credentials that webhook requests are authenticated and signed with.
//!
//! Owns: accounts and the references to their secrets. Must not: hold, return or log a secret, except a newly generated
//! one, which is shown once. Invariant: after a regeneration the previous secret stays valid for 24 hours (J10).

mod change;
mod reencrypt;
mod request;
mod view;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use reencrypt::Reencrypted;
pub use request::{
    AccountChange, AllowedHost, CredentialsChange, NewAccount, NewCredentials, NewRole,
    ServiceAccountWithSecret,
};
pub use view::{RoleAssignment, ServiceAccount, WebhookCredentials};

/// The authentication of webhook requests: `BEARER` sends `Authorization: Bearer TOKEN`, `BASIC` sends `user:password`
/// in base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WebhookAuthType {
    /// `Authorization: Bearer {token}`
    Bearer,
    /// `Authorization: Basic {base64}`; the token is `user:password`.
    Basic,
    /// The row holds a value that this version does not know; nothing is sent with it.
    #[serde(skip_deserializing)]
    Unknown,
}

/// The signature of webhook requests: as Standard Webhooks, with HMAC-SHA256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub enum SignatureAlgorithm {
    #[default]
    #[serde(rename = "HMAC_SHA256")]
    HmacSha256,
    /// The row holds a value that this version does not know.
    #[serde(rename = "UNKNOWN", skip_deserializing)]
    Unknown,
}
