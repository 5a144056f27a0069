//! Creating and changing service accounts, and generating their credentials.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use postrider_config::Scheme;
use postrider_seams::hosts::ANY;
use ring::rand::{SecureRandom as _, SystemRandom};

use super::request::{
    AccountChange, AllowedHost, CredentialsChange, NewAccount, NewCredentials, NewRole,
    ServiceAccountWithSecret,
};
use super::view::{RoleAssignment, ServiceAccount, TABLE};
use super::{SignatureAlgorithm, WebhookAuthType};
use crate::access::{Actor, ClientScope};
use crate::audit::Change;
use crate::job::enum_name;
use crate::sql::{Clauses as _, NewRow, SqlBuilder, tsid};
use crate::validation::Faults;
use crate::{Error, Hub, Moment};

/// How long the previous secret stays valid after a regeneration, in seconds (J10).
const OVERLAP_SECONDS: i64 = 24 * 60 * 60;

/// The error for a new account without allowed hosts. There is no default: sending credentials to any host is a
/// decision.
const HOSTS_MISSING: &str = "is missing: list the hosts that its credentials may go to, such as [\"hooks.example.com\"], or [\"*\"] for any host";

/// Whether the actor may create an account with this code. Codes are unique over all clients; a key of some clients
/// must use `CLIENT.NAME`, so that no conflict can reveal a code of another client.
fn may_use_code(actor: &Actor, code: &str) -> bool {
    match &actor.scope {
        ClientScope::All => true,
        scope @ ClientScope::Only(_) => {
            code.rsplit_once('.').is_some_and(|(client, _)| scope.covers(Some(client)))
        }
    }
}

/// A generated secret and the reference to it that is stored.
struct SigningSecret {
    secret: Option<String>,
    reference: Option<String>,
}

impl Hub {
    /// Creates an account. Without credentials, a signing secret is generated if the server has an encryption key.
    ///
    /// Fails if the code is taken, or if the actor may not use one of the clients, the code or a secret reference.
    pub async fn create_account(
        &self,
        actor: &Actor,
        new: NewAccount,
    ) -> Result<ServiceAccountWithSecret, Error> {
        let mut faults = Faults::default();
        faults.slug("code", &new.code, 128);
        if new.allowed_hosts.is_none() {
            faults.add("allowedHosts", HOSTS_MISSING);
        }
        let change = AccountChange {
            name: new.name,
            description: new.description,
            client_ids: new.client_ids,
            allowed_hosts: new.allowed_hosts,
            application_id: new.application_id,
            roles: new.roles,
        };
        change.check(&mut faults);
        if let Some(credentials) = &new.webhook_credentials {
            credentials.check(&mut faults);
        }
        faults.finish()?;
        let clients = actor.clients_for(&change.client_ids)?;
        if !may_use_code(actor, &new.code) {
            return Err(Error::invalid(
                "code",
                "must be CLIENT.NAME, with a client of this key and no dot in NAME",
            ));
        }
        let signing = match &new.webhook_credentials {
            Some(credentials) => {
                check_may_set_reference(
                    actor,
                    "webhookCredentials.authTokenRef",
                    credentials.auth_token_ref.as_ref(),
                )?;
                check_may_set_reference(
                    actor,
                    "webhookCredentials.signingSecretRef",
                    credentials.signing_secret_ref.as_ref(),
                )?;
                match (&credentials.signing_secret_ref, credentials.signing_algorithm) {
                    (None, Some(_)) => self.generate_secret_if_possible()?,
                    (reference, _) => SigningSecret { secret: None, reference: reference.clone() },
                }
            }
            None => self.generate_secret_if_possible()?,
        };
        let (id, at) = (tsid(), self.clock().await?);
        let auth = new.webhook_credentials.as_ref();
        let algorithm = signing.reference.as_ref().map(|_| enum_name(&SignatureAlgorithm::default()));
        let row = NewRow::new().text("id", id.clone()).text("code", new.code).flag("active", true);
        let row = change
            .set(row, &clients, &change.role_assignments(&[], at))
            .text("auth_type", auth.and_then(|auth| auth.auth_type).map(|kind| enum_name(&kind)))
            .text("auth_token_ref", auth.and_then(|auth| auth.auth_token_ref.clone()))
            .text("signing_algorithm", algorithm)
            .text("signing_secret_ref", signing.reference)
            .time("credentials_created_at", Some(at));
        let entry = Change::new("create", "serviceAccount", &id).of_client(only_client(&clients));
        self.insert_with_code("create a service account", (&TABLE, &id), row, actor, entry).await?;
        let account = self.account(actor, &id).await?;
        Ok(ServiceAccountWithSecret { account, signing_secret: signing.secret })
    }

    /// Replaces the members of an account that can be changed. Without `allowed_hosts` its hosts stay as they are.
    ///
    /// Fails if the account also belongs to clients outside the actor's scope.
    pub async fn change_account(
        &self,
        actor: &Actor,
        id: &str,
        change: &AccountChange,
    ) -> Result<ServiceAccount, Error> {
        let mut faults = Faults::default();
        change.check(&mut faults);
        faults.finish()?;
        let account = self.account_to_change(actor, id).await?;
        let clients = actor.clients_for(&change.client_ids)?;
        let at = self.clock().await?;
        let row = change.set(NewRow::new(), &clients, &change.role_assignments(&account.roles, at));
        self.update_account(actor, &account, "change", self.update(&TABLE, row)).await
    }

    /// Activates or deactivates an account. Jobs of an inactive account wait and use no attempt (J1).
    pub async fn activate_account(
        &self,
        actor: &Actor,
        id: &str,
        active: bool,
    ) -> Result<ServiceAccount, Error> {
        let account = self.account_to_change(actor, id).await?;
        let update = self.update(&TABLE, NewRow::new().flag("active", active));
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
        with: &CredentialsChange,
    ) -> Result<ServiceAccountWithSecret, Error> {
        let mut faults = Faults::default();
        faults.reference("signingSecretRef", with.signing_secret_ref.as_deref());
        faults.reference("authTokenRef", with.auth_token_ref.as_deref());
        if with.auth_type.is_some() && with.auth_token_ref.is_none() {
            faults.add("authTokenRef", "is missing: authType requires it");
        }
        faults.finish()?;
        check_may_set_reference(actor, "signingSecretRef", with.signing_secret_ref.as_ref())?;
        check_may_set_reference(actor, "authTokenRef", with.auth_token_ref.as_ref())?;
        let account = self.account_to_change(actor, id).await?;
        let signing = match (&with.signing_secret_ref, &with.auth_token_ref) {
            (None, None) => self.generate_secret()?,
            (reference, _) => SigningSecret { secret: None, reference: reference.clone() },
        };
        let mut update = self.sql("UPDATE service_accounts SET regenerated_at = ").now();
        if let Some(reference) = &signing.reference {
            update = update
                .push(", previous_signing_secret_ref = signing_secret_ref, previous_until = ")
                .now_plus(OVERLAP_SECONDS)
                .push(", signing_algorithm = 'HMAC_SHA256', signing_secret_ref = ")
                .text(reference);
        }
        if let Some(reference) = &with.auth_token_ref {
            let kind = with.auth_type.unwrap_or(WebhookAuthType::Bearer);
            update = update
                .push(", auth_token_ref = ")
                .text(reference)
                .push(", auth_type = ")
                .text(&enum_name(&kind));
        }
        let account = self.update_account(actor, &account, "regenerate", update).await?;
        Ok(ServiceAccountWithSecret { account, signing_secret: signing.secret })
    }

    async fn update_account(
        &self,
        actor: &Actor,
        account: &ServiceAccount,
        action: &'static str,
        update: SqlBuilder,
    ) -> Result<ServiceAccount, Error> {
        let change =
            Change::new(action, "serviceAccount", &account.id).of_client(only_client(&account.client_ids));
        let entry = change.entry(self.dialect(), actor);
        self.update_by_id("change a service account", &account.id, update, entry).await?;
        self.account(actor, &account.id).await
    }

    /// Returns an account that the actor may change: all of its clients must be within the actor's scope.
    async fn account_to_change(&self, actor: &Actor, id: &str) -> Result<ServiceAccount, Error> {
        let account = self.account(actor, id).await?;
        if account.client_ids.iter().all(|client| actor.scope.covers(Some(client))) {
            return Ok(account);
        }
        let message = "this service account is also for clients that this API key may not access".to_owned();
        Err(Error::Forbidden { field: "id", message })
    }

    /// Generates a signing secret in the format of Standard Webhooks; none if the server has no encryption key to store
    /// it.
    fn generate_secret_if_possible(&self) -> Result<SigningSecret, Error> {
        if self.encryption.is_none() {
            return Ok(SigningSecret { secret: None, reference: None });
        }
        self.generate_secret()
    }

    fn generate_secret(&self) -> Result<SigningSecret, Error> {
        let fault = |text: String| Error::invalid("signingSecretRef", text);
        let encryption = self.encryption.as_ref().ok_or_else(|| {
            fault(
                "is missing: the server has no encryption key, so it cannot generate a secret; pass a reference".to_owned(),
            )
        })?;
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).expect("the system has randomness");
        let secret = format!("whsec_{}", STANDARD.encode(bytes));
        let reference = encryption.encrypt(&secret).map_err(fault)?;
        Ok(SigningSecret { secret: Some(secret), reference: Some(reference) })
    }
}

impl AccountChange {
    fn check(&self, faults: &mut Faults) {
        faults.line("name", &self.name, 255);
        faults.optional_text("description", self.description.as_deref(), 2000);
        faults.optional_slug("applicationId", self.application_id.as_deref(), 64);
        faults.clients(&self.client_ids);
        let hosts = self.allowed_hosts.as_deref().unwrap_or_default();
        if hosts.len() > 100 {
            faults.add("allowedHosts", "must not have more than 100 hosts");
        }
        for (index, host) in hosts.iter().enumerate().filter(|(_, host)| !host.is_valid()) {
            let text = format!("`{}` is not a host, `*.` and a domain, or `*`", host.0);
            faults.add(&format!("allowedHosts[{index}]"), text);
        }
        if self.roles.len() > 50 {
            faults.add("roles", "must not have more than 50 roles");
        }
        for (index, role) in self.roles.iter().enumerate() {
            faults.slug(&format!("roles[{index}].roleName"), &role.role_name, 128);
            faults.optional_slug(
                &format!("roles[{index}].assignmentSource"),
                role.assignment_source.as_deref(),
                64,
            );
        }
    }

    /// Sets the columns that the change writes. Without `allowed_hosts`, the stored hosts stay.
    fn set(&self, row: NewRow, clients: &[String], roles: &[RoleAssignment]) -> NewRow {
        let row = row
            .text("name", self.name.clone())
            .text("description", self.description.clone())
            .json("client_ids", &clients)
            .text("application_id", self.application_id.clone())
            .json("roles", &roles);
        match &self.allowed_hosts {
            Some(hosts) => row.json("allowed_hosts", &hosts.iter().map(|host| &host.0).collect::<Vec<_>>()),
            None => row,
        }
    }

    /// The roles to store. Roles that the account already has keep their time of assignment.
    fn role_assignments(&self, before: &[RoleAssignment], at: Moment) -> Vec<RoleAssignment> {
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
                faults.add("webhookCredentials.authTokenRef", "is missing: authType requires it");
            }
            (None, Some(_)) => faults.add("webhookCredentials.authType", "is missing: BEARER or BASIC"),
            _ => {}
        }
    }
}

impl Faults {
    fn reference(&mut self, field: &str, value: Option<&str>) {
        let Some(value) = value else { return };
        let known = Scheme::split(value).is_some_and(|(_, rest)| !rest.is_empty());
        if !known || value.len() > 4000 || !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            let schemes = Scheme::ALL.map(Scheme::name).join(", ");
            self.add(field, format!("must be a reference to a secret: SCHEME://…, with one of {schemes}"));
        }
    }
}

/// Refuses secret references from a key of some clients. A reference can read variables, files and vaults of this
/// process, and such a key could have those secrets sent to its own target.
fn check_may_set_reference(
    actor: &Actor,
    field: &'static str,
    reference: Option<&String>,
) -> Result<(), Error> {
    let message = "only an API key of all clients may set references to secrets; leave them out to have a secret generated";
    match (&actor.scope, reference) {
        (ClientScope::Only(_), Some(_)) => Err(Error::Forbidden { field, message: message.to_owned() }),
        _ => Ok(()),
    }
}

/// The client recorded in the audit log: the only client of the account; `None` if it has none or several.
fn only_client(clients: &[String]) -> Option<&str> {
    match clients {
        [only] => Some(only),
        _ => None,
    }
}
