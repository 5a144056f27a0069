//! `account`: manages service accounts as the API does; every change is recorded in the audit log.

use postrider_hub::Hub;
use postrider_hub::access::{Actor, ClientId};
use postrider_hub::account::{
    AllowedHost, CredentialsChange, NewAccount, NewCredentials, ServiceAccountWithSecret, WebhookAuthType,
};

use serde_json::json;

use super::CommandContext;
use crate::api;
use crate::cli::{AccountCommand, CredentialArgs};
use crate::failure::Failure;
use crate::output::{Output, line};

/// Runs an `account` command.
pub async fn run(context: &CommandContext, command: AccountCommand) -> Result<(), Failure> {
    let store = context.settings.api_store().ok_or_else(|| {
        Failure::Misuse(
            "service accounts are stored with dispatch jobs: add a lane with the contract dispatch_jobs"
                .to_owned(),
        )
    })?;
    let hub = api::hub(context, store).await?;
    let actor = Actor::command_line();
    let (shown, json) = match command {
        AccountCommand::Create { code, name, clients, hosts, credentials, json } => {
            let new = NewAccount {
                name: name.unwrap_or_else(|| code.clone()),
                code,
                description: None,
                client_ids: clients.into_iter().map(ClientId).collect(),
                allowed_hosts: Some(hosts.into_iter().map(AllowedHost).collect()),
                application_id: None,
                webhook_credentials: new_credentials(credentials),
                roles: Vec::new(),
            };
            (hub.create_account(&actor, new).await?, json)
        }
        AccountCommand::Regenerate { id, credentials, json } => {
            let named = new_credentials(credentials);
            let with = named.map_or_else(CredentialsChange::default, |named| CredentialsChange {
                signing_secret_ref: named.signing_secret_ref,
                auth_type: named.auth_type,
                auth_token_ref: named.auth_token_ref,
            });
            (hub.regenerate(&actor, &id, &with).await?, json)
        }
        AccountCommand::Reencrypt { json } => return reencrypt(&hub, &actor, Output::new(json)).await,
    };
    print(&shown, Output::new(json))
}

/// Encrypts all secrets that it can with the current key, even if some fail.
async fn reencrypt(hub: &Hub, actor: &Actor, output: Output) -> Result<(), Failure> {
    let done = hub.reencrypt_accounts(actor).await?;
    let text = format!("{} references re-encrypted", done.references);
    output.data(json!({ "references": done.references }), text)?;
    if done.failed.is_empty() {
        return Ok(());
    }
    let failures: Vec<String> = done.failed.iter().map(|(id, why)| format!("account {id}: {why}")).collect();
    Err(Failure::Failed(failures.join("; ")))
}

fn new_credentials(credentials: CredentialArgs) -> Option<NewCredentials> {
    let CredentialArgs { signing, bearer, basic } = credentials;
    let auth_type = match (&bearer, &basic) {
        (Some(_), _) => Some(WebhookAuthType::Bearer),
        (None, Some(_)) => Some(WebhookAuthType::Basic),
        (None, None) => None,
    };
    let auth_token_ref = bearer.or(basic);
    (signing.is_some() || auth_token_ref.is_some()).then_some(NewCredentials {
        auth_type,
        auth_token_ref,
        signing_secret_ref: signing,
        signing_algorithm: None,
    })
}

/// Prints an account as JSON in both formats, as it has too many members for a table.
fn print(shown: &ServiceAccountWithSecret, output: Output) -> Result<(), Failure> {
    line(shown)?;
    if shown.signing_secret.is_some() {
        output.note("the signing secret is shown only once: give it to the receiver");
    }
    Ok(())
}
