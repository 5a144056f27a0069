//! `key`: manages API keys through the database, so that operators can recover when every key is lost.

use postrider_hub::access::{Actor, ApiKey, NewKey, Role};
use postrider_hub::{Error, Hub};

use super::CommandContext;
use crate::cli::{KeyCommand, KeyCreateArgs};
use crate::failure::Failure;
use crate::output::{Output, line};
use crate::text_table::{TextTable, one_line};

/// The largest width of a cell, in characters.
const CELL: usize = 40;

/// Runs a `key` command.
pub async fn run(context: &CommandContext, command: &KeyCommand) -> Result<(), Failure> {
    let hub = open_hub(context).await?;
    match command {
        KeyCommand::Create(args) => create(&hub, args).await,
        KeyCommand::List { json } => list(&hub, *json).await,
        KeyCommand::Revoke { ids, json } => revoke(&hub, ids, Output::new(*json)).await,
    }
}

async fn open_hub(context: &CommandContext) -> Result<Hub, Failure> {
    let store = context.settings.api_store().ok_or_else(|| {
        Failure::Misuse(
            "there is no API: it needs a lane of the contract dispatch_jobs, or `[server] api = STORE`"
                .to_owned(),
        )
    })?;
    let database = context.wiring.internal_tables(store)?;
    Hub::open(database, postrider_hub::Settings::default(), None).await.map_err(to_failure)
}

fn to_failure(error: Error) -> Failure {
    match error {
        Error::Store(error) => error.into(),
        Error::Invalid(_) => Failure::Misuse(error.to_string()),
        _ => Failure::Failed(error.to_string()),
    }
}

async fn create(hub: &Hub, args: &KeyCreateArgs) -> Result<(), Failure> {
    let new = serde_json::json!({
        "name": args.name, "role": args.role, "clientIds": args.clients, "expiresAt": args.expires_at,
    });
    let new: NewKey = serde_json::from_value(new).map_err(|error| Failure::Misuse(error.to_string()))?;
    let shown = hub.create_key(&Actor::command_line(), &new, None).await.map_err(to_failure)?;
    let output = Output::new(args.json);
    output.data(&shown, &shown.key)?;
    output.note(format_args!("key {}: store it now, it is shown only once", shown.details.id));
    Ok(())
}

async fn list(hub: &Hub, json: bool) -> Result<(), Failure> {
    let keys = hub.keys(&Actor::command_line()).await.map_err(to_failure)?;
    if json {
        return keys.iter().try_for_each(line);
    }
    let mut table = TextTable::new(&["id", "name", "prefix", "role", "clients", "last used", "state"]);
    for key in &keys {
        table.row(row(key));
    }
    Ok(table.write(&mut std::io::stdout().lock())?)
}

fn row(key: &ApiKey) -> Vec<String> {
    let clients = if key.client_ids.is_empty() { "all".to_owned() } else { key.client_ids.join(",") };
    let state = match (key.revoked_at, key.expires_at) {
        (Some(at), _) => format!("revoked {at}"),
        (None, Some(at)) => format!("until {at}"),
        (None, None) => "open".to_owned(),
    };
    vec![
        key.id.clone(),
        one_line(&key.name, CELL),
        key.prefix.clone(),
        key.role.map_or("unknown", Role::name).to_owned(),
        one_line(&clients, CELL),
        key.last_used_at.map_or_else(|| "never".to_owned(), |at| at.to_string()),
        state,
    ]
}

async fn revoke(hub: &Hub, ids: &[String], output: Output) -> Result<(), Failure> {
    for id in ids {
        let key = hub.revoke_key(&Actor::command_line(), id).await.map_err(to_failure)?;
        if output.is_json() {
            line(&key)?;
        }
        output.note(format_args!("{id} ({}) is revoked", key.name));
    }
    Ok(())
}
