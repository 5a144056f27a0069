//! Creating and changing service accounts, and generating their credentials.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use postrider_seams::hosts::ANY;
use postrider_sql::bind::tsid;
use ring::rand::{SecureRandom as _, SystemRandom};

use super::request::{
    AccountChange, AllowedHost, NewAccount, NewCredentials, NewRole, Regenerate, ShownAccount,
};
use super::view::{RoleAssignment, SHEET, ServiceAccount};
use super::{SignatureAlgorithm, WebhookAuthType};
use crate::access::{Actor, ClientId, Scope};
use crate::audit::Change;
use crate::check::Faults;
use crate::draft::Draft;
use crate::job::name;
use crate::sheet::{Fresh, Insert, now, now_and};
use crate::{Error, Hub, Moment};

/// How long the previous secret stays valid after a regeneration, in seconds (J10).
const OVERLAP_SECONDS: i64 = 24 * 60 * 60;

/// The error for a new account without allowed hosts. There is no default: sending credentials to any host is a
/// decision.
const NO_HOSTS: &str = "is missing: list the hosts that its credentials may go to, such as [\"hooks.example.com\"], or [\"*\"] for any host";

const SCHEMES: [&str; 7] =
    ["aws-secretsmanager", "aws-ssm", "gcp-secretmanager", "vault", "encrypted", "env", "file"];

/// Whether the actor may create an account with this code. Codes are unique over all clients; a key of some clients
/// must use `CLIENT.NAME`, so that no conflict can reveal a code of another client.
fn is_own_code(actor: &Actor, code: &str) -> bool {
    match &actor.scope {
        Scope::All => true,
        scope @ Scope::Only(_) => code.rsplit_once('.').is_some_and(|(client, _)| scope.covers(Some(client))),
    }
}

/// A generated secret and the reference to it that is stored.
struct Made {
    secret: Option<String>,
    reference: Option<String>,
}

impl Hub {
    /// Creates an account. Without credentials, a signing secret is generated if the server has an encryption key.
    ///
    /// Fails if the code is taken, or if the actor may not use one of the clients, the code or a secret reference.
    pub async fn create_account(&self, actor: &Actor, new: NewAccount) -> Result<ShownAccount, Error> {
        let mut faults = Faults::default();
        faults.slug("code", &new.code, 128);
        if new.allowed_hosts.is_none() {
            faults.note("allowedHosts", NO_HOSTS);
        }
        let what = AccountChange {
            name: new.name,
            description: new.description,
            client_ids: new.client_ids,
            allowed_hosts: new.allowed_hosts,
            application_id: new.application_id,
            roles: new.roles,
        };
        what.check(&mut faults);
        if let Some(credentials) = &new.webhook_credentials {
            credentials.check(&mut faults);
        }
        faults.end()?;
        let clients = clients_for(actor, &what.client_ids)?;
        if !is_own_code(actor, &new.code) {
            return Err(Error::invalid(
                "code",
                "must be CLIENT.NAME, with a client of this key and no dot in NAME",
            ));
        }
        let made = match &new.webhook_credentials {
            Some(credentials) => {
                may_name(actor, "webhookCredentials.authTokenRef", credentials.auth_token_ref.as_ref())?;
                may_name(
                    actor,
                    "webhookCredentials.signingSecretRef",
                    credentials.signing_secret_ref.as_ref(),
                )?;
                match (&credentials.signing_secret_ref, credentials.signing_algorithm) {
                    (None, Some(_)) => self.made_secret()?,
                    (reference, _) => Made { secret: None, reference: reference.clone() },
                }
            }
            None => self.made_secret()?,
        };
        let (dialect, id, at) = (self.dialect(), tsid(), self.clock().await?);
        let auth = new.webhook_credentials.as_ref();
        let row = Fresh::new()
            .text("id", id.clone())
            .text("code", new.code)
            .text("name", what.name.clone())
            .text("description", what.description.clone())
            .text("client_ids", serde_json::json!(clients).to_string())
            .text("allowed_hosts", what.hosts())
            .text("application_id", what.application_id.clone())
            .flag("active", true)
            .text("auth_type", auth.and_then(|auth| auth.auth_type).map(|kind| name(&kind)))
            .text("auth_token_ref", auth.and_then(|auth| auth.auth_token_ref.clone()))
            .text("signing_algorithm", made.reference.as_ref().map(|_| name(&SignatureAlgorithm::default())))
            .text("signing_secret_ref", made.reference)
            .time(dialect, "credentials_created_at", Some(at))
            .text("roles", serde_json::json!(what.assigned(&[], at)).to_string());
        let insert = Insert {
            table: SHEET.table,
            columns: &SHEET.columns[..15],
            or_nothing: true,
            ..Insert::default()
        };
        let change = Change::new("create", "serviceAccount", &id).of_client(sole(&clients));
        let insert = insert.rows(dialect, vec![row]);
        let change = change.if_made(dialect, actor, SHEET.table);
        self.insert_once("create a service account", insert, SHEET.table, &id, change).await?;
        Ok(ShownAccount { account: self.account(actor, &id).await?, signing_secret: made.secret })
    }

    /// Replaces the members of an account that can be changed. Without `allowed_hosts` its hosts stay as they are.
    ///
    /// Fails if the account also belongs to clients outside the actor's scope.
    pub async fn change_account(
        &self,
        actor: &Actor,
        id: &str,
        what: &AccountChange,
    ) -> Result<ServiceAccount, Error> {
        let mut faults = Faults::default();
        what.check(&mut faults);
        faults.end()?;
        let account = self.own_account(actor, id).await?;
        let clients = clients_for(actor, &what.client_ids)?;
        let at = self.clock().await?;
        let update = Draft::new(self.dialect(), "UPDATE service_accounts SET name = ")
            .text(&what.name)
            .push(", description = ")
            .maybe(what.description.as_deref())
            .push(", client_ids = ")
            .text(&serde_json::json!(clients).to_string())
            .push(", application_id = ")
            .maybe(what.application_id.as_deref())
            .push(", allowed_hosts = coalesce(")
            .maybe(what.hosts().as_deref())
            .push(", allowed_hosts), roles = ")
            .text(&serde_json::json!(what.assigned(&account.roles, at)).to_string());
        self.update_account(actor, &account, "change", update).await
    }

    /// Activates or deactivates an account. Jobs of an inactive account wait and use no attempt (J1).
    pub async fn activate_account(
        &self,
        actor: &Actor,
        id: &str,
        active: bool,
    ) -> Result<ServiceAccount, Error> {
        let account = self.own_account(actor, id).await?;
        let update = Draft::new(self.dialect(), "UPDATE service_accounts SET active = ").flag(active);
        self.update_account(actor, &account, if active { "activate" } else { "deactivate" }, update).await
    }

    /// Replaces the credentials of an account. Without a reference, generates a signing secret, which is shown once.
    ///
    /// A replaced signing secret stays valid for 24 hours. Fails if a secret must be generated and the server has no
    /// encryption key.
    pub async fn regenerate(
        &self,
        actor: &Actor,
        id: &str,
        with: &Regenerate,
    ) -> Result<ShownAccount, Error> {
        let mut faults = Faults::default();
        faults.reference("signingSecretRef", with.signing_secret_ref.as_deref());
        faults.reference("authTokenRef", with.auth_token_ref.as_deref());
        if with.auth_type.is_some() && with.auth_token_ref.is_none() {
            faults.note("authTokenRef", "is missing: authType requires it");
        }
        faults.end()?;
        may_name(actor, "signingSecretRef", with.signing_secret_ref.as_ref())?;
        may_name(actor, "authTokenRef", with.auth_token_ref.as_ref())?;
        let account = self.own_account(actor, id).await?;
        let made = match (&with.signing_secret_ref, &with.auth_token_ref) {
            (None, None) => self.made_secret_or_fault()?,
            (reference, _) => Made { secret: None, reference: reference.clone() },
        };
        let dialect = self.dialect();
        let mut update =
            Draft::new(dialect, "UPDATE service_accounts SET regenerated_at = ").push(now(dialect));
        if let Some(reference) = &made.reference {
            update = update
                .push(", previous_signing_secret_ref = signing_secret_ref, previous_until = ")
                .push(&now_and(dialect, OVERLAP_SECONDS))
                .push(", signing_algorithm = 'HMAC_SHA256', signing_secret_ref = ")
                .text(reference);
        }
        if let Some(reference) = &with.auth_token_ref {
            let kind = with.auth_type.unwrap_or(WebhookAuthType::Bearer);
            update =
                update.push(", auth_token_ref = ").text(reference).push(", auth_type = ").text(&name(&kind));
        }
        let account = self.update_account(actor, &account, "regenerate", update).await?;
        Ok(ShownAccount { account, signing_secret: made.secret })
    }

    async fn update_account(
        &self,
        actor: &Actor,
        account: &ServiceAccount,
        action: &'static str,
        update: Draft,
    ) -> Result<ServiceAccount, Error> {
        let dialect = self.dialect();
        let update = update.push(", updated_at = ").push(now(dialect)).push(" WHERE id = ").text(&account.id);
        let change = Change::new(action, "serviceAccount", &account.id).of_client(sole(&account.client_ids));
        self.run("change a service account", vec![update.done(), change.by(dialect, actor)]).await?;
        self.account(actor, &account.id).await
    }

    /// Returns an account that the actor may change: all of its clients must be within the actor's scope.
    async fn own_account(&self, actor: &Actor, id: &str) -> Result<ServiceAccount, Error> {
        let account = self.account(actor, id).await?;
        if account.client_ids.iter().all(|client| actor.scope.covers(Some(client))) {
            return Ok(account);
        }
        let message = "this service account is also for clients that this API key may not access".to_owned();
        Err(Error::Forbidden { field: "id", message })
    }

    /// Generates a signing secret in the format of Standard Webhooks; none if the server has no encryption key to store
    /// it.
    fn made_secret(&self) -> Result<Made, Error> {
        if self.sealer.is_none() {
            return Ok(Made { secret: None, reference: None });
        }
        self.made_secret_or_fault()
    }

    fn made_secret_or_fault(&self) -> Result<Made, Error> {
        let fault = |text: String| Error::invalid("signingSecretRef", text);
        let sealer = self.sealer.as_ref().ok_or_else(|| {
            fault(
                "is missing: the server has no encryption key, so it cannot generate a secret; pass a reference".to_owned(),
            )
        })?;
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).expect("the system has randomness");
        let secret = format!("whsec_{}", STANDARD.encode(bytes));
        let reference = sealer.seal(&secret).map_err(fault)?;
        Ok(Made { secret: Some(secret), reference: Some(reference) })
    }
}

impl AccountChange {
    fn check(&self, faults: &mut Faults) {
        faults.line("name", &self.name, 255);
        if let Some(description) = &self.description {
            faults.text("description", description, 2000);
        }
        faults.maybe_slug("applicationId", self.application_id.as_deref(), 64);
        if self.client_ids.len() > 100 {
            faults.note("clientIds", "must not have more than 100 clients");
        }
        for (index, client) in self.client_ids.iter().enumerate() {
            faults.slug(&format!("clientIds[{index}]"), &client.0, 64);
        }
        let hosts = self.allowed_hosts.as_deref().unwrap_or_default();
        if hosts.len() > 100 {
            faults.note("allowedHosts", "must not have more than 100 hosts");
        }
        for (index, host) in hosts.iter().enumerate().filter(|(_, host)| !host.is_valid()) {
            let text = format!("`{}` is not a host, `*.` and a domain, or `*`", host.0);
            faults.note(&format!("allowedHosts[{index}]"), text);
        }
        if self.roles.len() > 50 {
            faults.note("roles", "must not have more than 50 roles");
        }
        for (index, role) in self.roles.iter().enumerate() {
            faults.slug(&format!("roles[{index}].roleName"), &role.role_name, 128);
            faults.maybe_slug(
                &format!("roles[{index}].assignmentSource"),
                role.assignment_source.as_deref(),
                64,
            );
        }
    }

    /// The allowed hosts as the column stores them, a JSON list; `None` to keep the stored ones.
    fn hosts(&self) -> Option<String> {
        let hosts = self.allowed_hosts.as_ref()?;
        let hosts: Vec<&str> = hosts.iter().map(|host| host.0.as_str()).collect();
        Some(serde_json::json!(hosts).to_string())
    }

    /// The roles to store. Roles that the account already has keep their time of assignment.
    fn assigned(&self, before: &[RoleAssignment], at: Moment) -> Vec<RoleAssignment> {
        let assigned = |role: &NewRole| {
            let known = before.iter().find(|known| known.role_name == role.role_name);
            let source =
                role.assignment_source.clone().or(known.map(|known| known.assignment_source.clone()));
            RoleAssignment {
                role_name: role.role_name.clone(),
                assignment_source: source.unwrap_or_else(|| "MANUAL".to_owned()),
                assigned_at: known.and_then(|known| known.assigned_at).or(Some(at)),
            }
        };
        self.roles.iter().map(assigned).collect()
    }
}

impl AllowedHost {
    /// Whether the host matches the pattern in the API document.
    fn is_valid(&self) -> bool {
        let name = self.0.strip_prefix("*.").unwrap_or(&self.0);
        let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
        let ends = name.starts_with('.') || name.ends_with('.');
        self.0 == ANY || (!name.is_empty() && name.len() <= 252 && !ends && name.bytes().all(fine))
    }
}

impl NewCredentials {
    fn check(&self, faults: &mut Faults) {
        faults.reference("webhookCredentials.authTokenRef", self.auth_token_ref.as_deref());
        faults.reference("webhookCredentials.signingSecretRef", self.signing_secret_ref.as_deref());
        match (self.auth_type, &self.auth_token_ref) {
            (Some(_), None) => {
                faults.note("webhookCredentials.authTokenRef", "is missing: authType requires it");
            }
            (None, Some(_)) => faults.note("webhookCredentials.authType", "is missing: BEARER or BASIC"),
            _ => {}
        }
    }
}

impl Faults {
    fn reference(&mut self, field: &str, value: Option<&str>) {
        let Some(value) = value else { return };
        let known = value
            .split_once("://")
            .is_some_and(|(scheme, rest)| SCHEMES.contains(&scheme) && !rest.is_empty());
        if !known || value.len() > 4000 || !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.note(
                field,
                format!("must be a reference to a secret: SCHEME://…, with one of {}", SCHEMES.join(", ")),
            );
        }
    }
}

/// Refuses secret references from a key of some clients. A reference can read variables, files and vaults of this
/// process, and such a key could have those secrets sent to its own target.
fn may_name(actor: &Actor, field: &'static str, reference: Option<&String>) -> Result<(), Error> {
    let message = "only an API key of all clients may set references to secrets; leave them out to have a secret generated";
    match (&actor.scope, reference) {
        (Scope::Only(_), Some(_)) => Err(Error::Forbidden { field, message: message.to_owned() }),
        _ => Ok(()),
    }
}

/// The client recorded in the audit log: the only client of the account; `None` if it has none or several.
fn sole(clients: &[String]) -> Option<&str> {
    match clients {
        [only] => Some(only),
        _ => None,
    }
}

fn clients_for(actor: &Actor, clients: &[ClientId]) -> Result<Vec<String>, Error> {
    let clients: Vec<String> = clients.iter().map(|client| client.0.clone()).collect();
    match &actor.scope {
        Scope::Only(own) if clients.is_empty() => Ok(own.clone()),
        scope if clients.iter().all(|client| scope.covers(Some(client))) => Ok(clients),
        _ => Err(Error::NotYours("clientIds")),
    }
}
