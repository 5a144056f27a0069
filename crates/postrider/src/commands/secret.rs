//! `secret`: makes keys and encrypts secrets. Secrets come from stdin, because other users can see command lines.

use std::io::{IsTerminal as _, Read as _};

use postrider_seams::Secret;
use postrider_secrets::{Environment, Keyring};
use serde_json::json;

use crate::cli::SecretCommand;
use crate::failure::Failure;
use crate::output::Output;

/// Runs a `secret` command.
pub fn run(command: &SecretCommand) -> Result<(), Failure> {
    match command {
        SecretCommand::Key { id, json } => {
            let key = Keyring::generate_key(id);
            Keyring::parse(key.reveal()).map_err(|_| {
                Failure::Misuse(
                    "the name of a key must be 1 to 32 letters, digits, dots, dashes and underscores"
                        .to_owned(),
                )
            })?;
            Output::new(*json).data(json!({ "id": id, "key": key.reveal() }), key.reveal())
        }
        SecretCommand::Encrypt { json } => {
            let keys = keyring()?;
            let secret = stdin("the secret")?;
            // Editors and `echo` append a newline that is not part of the secret.
            let text = secret.reveal().trim_end_matches(['\r', '\n']);
            if text.is_empty() {
                return Err(Failure::Misuse("stdin is empty: write the secret to it".to_owned()));
            }
            let reference = keys.encrypt(text).map_err(|error| Failure::Failed(error.to_string()))?;
            Output::new(*json).data(json!({ "reference": reference }), &reference)
        }
        SecretCommand::Reencrypt { json } => {
            let keys = keyring()?;
            let references = stdin("the references")?;
            let lines = references.reveal().lines().map(str::trim).filter(|line| !line.is_empty());
            for (index, line) in lines.enumerate() {
                let anew = keys
                    .reencrypt(line)
                    .map_err(|error| Failure::Failed(format!("reference {}: {error}", index + 1)))?;
                let reference = anew.as_deref().unwrap_or(line);
                let object = json!({ "reference": reference, "changed": anew.is_some() });
                Output::new(*json).data(object, reference)?;
            }
            Ok(())
        }
    }
}

fn keyring() -> Result<Keyring, Failure> {
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Environment::new(variables, "").keyring().map_err(Failure::Misuse)
}

fn stdin(what: &str) -> Result<Secret, Failure> {
    if std::io::stdin().is_terminal() {
        eprintln!("type {what}, then Ctrl-D");
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(Secret::new(text))
}
