//! Request and response bodies for creating and changing service accounts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::view::ServiceAccount;
use super::{SignatureAlgorithm, WebhookAuthType};
use crate::access::ClientId;

/// A service account to create.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewAccount {
    /// Code of the account; unique. It cannot be changed later.
    #[schema(min_length = 1, max_length = 128, pattern = "^[A-Za-z0-9._-]{1,128}$")]
    pub code: String,
    /// Display name.
    #[schema(max_length = 255, format = "line")]
    pub name: String,
    /// Free text. Default: none.
    #[schema(max_length = 2000, pattern = r"^[^\u0000]*$")]
    pub description: Option<String>,
    /// Clients whose jobs may use the account. Default: all clients.
    #[serde(default)]
    #[schema(max_items = 100)]
    pub client_ids: Vec<ClientId>,
    /// Hosts that the credentials may be sent to: a host, `*.` and a domain for all its subdomains, or `*` for any host.
    #[schema(max_items = 100, required = true, nullable = false)]
    pub allowed_hosts: Option<Vec<AllowedHost>>,
    /// Id of the application that the account belongs to. Default: none.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    pub application_id: Option<String>,
    /// References to the credentials. Default: a signing secret is generated and shown once.
    pub webhook_credentials: Option<NewCredentials>,
    /// Roles of the account. Default: none.
    #[serde(default)]
    #[schema(max_items = 50)]
    pub roles: Vec<NewRole>,
}

/// A host, `*.` and a domain, or `*`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[schema(
    min_length = 1,
    max_length = 255,
    pattern = r"^(\*|(\*\.)?[A-Za-z0-9_:-]([A-Za-z0-9._:-]{0,250}[A-Za-z0-9_:-])?)$"
)]
pub struct AllowedHost(pub String);

/// References to secrets: `aws-secretsmanager://`, `aws-ssm://`, `gcp-secretmanager://`, `vault://`, `encrypted://`,
/// `env://` or `file://`. Only API keys of all clients may set them.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewCredentials {
    /// How requests are authenticated; required with `authTokenRef`. Default: not at all.
    pub auth_type: Option<WebhookAuthType>,
    /// Reference to the token, or to `user:password` for `BASIC`. Default: none.
    #[schema(max_length = 4000, format = "secret-reference")]
    pub auth_token_ref: Option<String>,
    /// Reference to the signing secret. Default: none.
    #[schema(max_length = 4000, format = "secret-reference")]
    pub signing_secret_ref: Option<String>,
    /// How requests are signed. Without `signingSecretRef`, a secret is generated. Default: none.
    pub signing_algorithm: Option<SignatureAlgorithm>,
}

/// A role to assign to a service account.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewRole {
    /// Name of the role.
    #[schema(min_length = 1, max_length = 128, pattern = "^[A-Za-z0-9._-]{1,128}$")]
    pub role_name: String,
    /// What assigns the role. Default: `MANUAL`.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    pub assignment_source: Option<String>,
}

/// The members of a service account that can be changed. They replace the present ones.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccountChange {
    /// Display name.
    #[schema(max_length = 255, format = "line")]
    pub name: String,
    /// Free text. Default: none.
    #[schema(max_length = 2000, pattern = r"^[^\u0000]*$")]
    pub description: Option<String>,
    /// Clients whose jobs may use the account. Default: all clients.
    #[serde(default)]
    #[schema(max_items = 100)]
    pub client_ids: Vec<ClientId>,
    /// Hosts that the credentials may be sent to. Default: unchanged.
    #[schema(max_items = 100)]
    pub allowed_hosts: Option<Vec<AllowedHost>>,
    /// Id of the application that the account belongs to. Default: none.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    pub application_id: Option<String>,
    /// Roles of the account. Default: none.
    #[serde(default)]
    #[schema(max_items = 50)]
    pub roles: Vec<NewRole>,
}

/// New credentials. Without any reference, a signing secret is generated and shown once.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CredentialsChange {
    /// Reference to the new signing secret. Default: unchanged.
    #[schema(max_length = 4000, format = "secret-reference")]
    pub signing_secret_ref: Option<String>,
    /// How requests are authenticated. Default: `BEARER` if `authTokenRef` is set, otherwise unchanged.
    pub auth_type: Option<WebhookAuthType>,
    /// Reference to the new token. Default: unchanged.
    #[schema(max_length = 4000, format = "secret-reference")]
    pub auth_token_ref: Option<String>,
}

/// A service account and its new signing secret, if one was generated; it is shown only here.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceAccountWithSecret {
    #[serde(flatten)]
    pub account: ServiceAccount,
    /// The signing secret, `whsec_` and base64, as defined by Standard Webhooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub signing_secret: Option<String>,
}
