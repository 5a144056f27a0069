//! Service accounts as the API returns them, and the queries that read and list them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{SignatureAlgorithm, WebhookAuthType};
use crate::access::{Actor, ClientScope};
use crate::cursor::PagePosition;
use crate::page::{Page, PageQuery};
use crate::sql::{Clauses as _, RowReader, Table, columns};
use crate::{Error, Hub, Moment};

pub(super) const TABLE: Table = Table {
    name: "service_accounts",
    columns: columns![
        id, code, name, description, client_ids, allowed_hosts, application_id, active: Flag, auth_type, auth_token_ref,
        signing_secret_ref, signing_algorithm, credentials_created_at: Time, regenerated_at: Time, roles,
        last_used_at: Time, created_at: Time, updated_at: Time,
    ],
};

/// Credentials that webhook requests are authenticated and signed with. Secrets are stored as references.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceAccount {
    /// Id of the account.
    pub id: String,
    /// Code of the account; unique.
    pub code: String,
    /// Display name.
    pub name: String,
    /// Free text.
    pub description: Option<String>,
    /// Clients whose jobs may use the account. Empty: all clients.
    pub client_ids: Vec<String>,
    /// Hosts that the credentials may be sent to: a host, `*.` and a domain for all its subdomains, or `*` for any
    /// host.
    pub allowed_hosts: Vec<String>,
    /// Id of the application that the account belongs to.
    pub application_id: Option<String>,
    /// Whether the account may be used. Jobs of an inactive account wait and use no attempt.
    pub active: bool,
    /// References to the credentials. Null: requests are neither authenticated nor signed.
    pub webhook_credentials: Option<WebhookCredentials>,
    /// Roles of the account. Postrider stores them and does not interpret them.
    pub roles: Vec<RoleAssignment>,
    /// When the account was last used, to the minute. Null: never.
    pub last_used_at: Option<Moment>,
    /// When the account was created.
    pub created_at: Option<Moment>,
    /// When the account was last changed.
    pub updated_at: Option<Moment>,
}

/// References to the secrets of a service account, never the secrets themselves.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookCredentials {
    /// How requests are authenticated. Null: they are not.
    pub auth_type: Option<WebhookAuthType>,
    /// Reference to the token, or to `user:password` for `BASIC`.
    pub auth_token_ref: Option<String>,
    /// Reference to the signing secret.
    pub signing_secret_ref: Option<String>,
    /// How requests are signed. Null: they are not.
    pub signing_algorithm: Option<SignatureAlgorithm>,
    /// When the credentials were created.
    pub created_at: Option<Moment>,
    /// When the credentials were last replaced. Null: never.
    pub regenerated_at: Option<Moment>,
}

/// A role of a service account.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoleAssignment {
    /// Name of the role.
    pub role_name: String,
    /// What assigned the role: `MANUAL`, or the name of another system.
    pub assignment_source: String,
    /// When the role was assigned.
    pub assigned_at: Option<Moment>,
}

impl Hub {
    /// Returns one account by its id; an error if it does not exist or the actor may access none of its clients.
    pub async fn account(&self, actor: &Actor, id: &str) -> Result<ServiceAccount, Error> {
        let found = self.fetch_by_id("read a service account", &TABLE, id).await?.map(read);
        found.filter(|account| is_visible(actor, account)).ok_or(Error::NotFound("service account"))
    }

    /// Returns a page of accounts, newest first; with `code`, only the account of that code.
    pub async fn accounts(
        &self,
        actor: &Actor,
        code: Option<&str>,
        page: &PageQuery,
    ) -> Result<Page<ServiceAccount>, Error> {
        let context = format!("accounts {}", code.unwrap_or_default());
        let mut after = self.decode_cursor(actor, &context, page)?.map(|after| after.id);
        let wanted = page.wanted() as usize + 1;
        let mut accounts = Vec::new();
        // The clients are a list in one column, so accounts outside the scope are filtered here, page by page.
        loop {
            let mut query = self.select(&TABLE).and_equals("code", code);
            if let Some(after) = &after {
                query = query.push(" AND t.id < ").text(after);
            }
            let rows =
                self.fetch_all("list service accounts", query.push(" ORDER BY t.id DESC LIMIT 500")).await?;
            let found: Vec<ServiceAccount> = rows.into_iter().map(read).collect();
            let ended = found.len() < 500;
            after = found.last().map(|account| account.id.clone());
            accounts.extend(found.into_iter().filter(|account| is_visible(actor, account)));
            if ended || accounts.len() >= wanted {
                break;
            }
        }
        accounts.truncate(wanted);
        Ok(self.build_page(actor, &context, page, accounts, |account| PagePosition::of_id(&account.id)))
    }
}

fn is_visible(actor: &Actor, account: &ServiceAccount) -> bool {
    match &actor.scope {
        ClientScope::All => true,
        scope @ ClientScope::Only(_) => account.client_ids.iter().any(|client| scope.covers(Some(client))),
    }
}

pub(super) fn read(mut row: RowReader) -> ServiceAccount {
    let mut account = ServiceAccount {
        id: row.required_text(),
        code: row.required_text(),
        name: row.required_text(),
        description: row.text(),
        client_ids: row.json(),
        allowed_hosts: row.json(),
        application_id: row.text(),
        active: row.flag(),
        webhook_credentials: None,
        roles: Vec::new(),
        last_used_at: None,
        created_at: None,
        updated_at: None,
    };
    let credentials = WebhookCredentials {
        auth_type: row.name_or(WebhookAuthType::Unknown),
        auth_token_ref: row.text(),
        signing_secret_ref: row.text(),
        signing_algorithm: row.name_or(SignatureAlgorithm::Unknown),
        created_at: row.time(),
        regenerated_at: row.time(),
    };
    let any = credentials.auth_token_ref.is_some() || credentials.signing_secret_ref.is_some();
    account.webhook_credentials = any.then_some(credentials);
    account.roles = row.json();
    account.last_used_at = row.time();
    account.created_at = row.time();
    account.updated_at = row.time();
    account
}
