//! The token for Vault: configured, or obtained with AppRole and cached until shortly before it expires.

use std::time::Duration;

use postrider_http::Method;
use postrider_seams::secret::Error;
use postrider_seams::{Secret, scrub};
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::resolver::Environment;
use crate::service_client::{self, ServiceClient};

use super::{TITLE, send};

#[derive(Default)]
pub(super) struct VaultToken {
    cached: Mutex<Option<(Secret, Instant)>>,
}

impl VaultToken {
    /// Returns `VAULT_TOKEN`, or the cached token of AppRole; logs in if there is none or it has expired.
    pub async fn token(&self, client: &ServiceClient, environment: &Environment) -> Result<Secret, Error> {
        if let Some(token) = environment.get("VAULT_TOKEN") {
            return Ok(Secret::new(token));
        }
        let mut cached = self.cached.lock().await;
        if let Some((token, until)) = cached.as_ref()
            && Instant::now() < *until
        {
            return Ok(token.clone());
        }
        let (token, lifetime) = login_with_approle(client, environment).await?;
        *cached = Some((token.clone(), Instant::now() + lifetime));
        Ok(token)
    }

    /// Removes a token that was refused from the cache; false if the token is configured, so that a retry is pointless.
    pub async fn discard(&self, environment: &Environment, token: &Secret) -> bool {
        if environment.get("VAULT_TOKEN").is_some() {
            return false;
        }
        let mut cached = self.cached.lock().await;
        if cached.as_ref().is_some_and(|(cached_mount, _)| cached_mount == token) {
            *cached = None;
        }
        true
    }
}

async fn login_with_approle(
    client: &ServiceClient,
    environment: &Environment,
) -> Result<(Secret, Duration), Error> {
    let missing =
        || Error::Unavailable("vault:// needs VAULT_TOKEN, or VAULT_ROLE_ID and VAULT_SECRET_ID".to_owned());
    let role = environment.get("VAULT_ROLE_ID").ok_or_else(missing)?;
    let mut body = json!({ "role_id": role });
    if let Some(secret) = environment.get("VAULT_SECRET_ID") {
        body["secret_id"] = secret.into();
    }
    let mount = environment.get("VAULT_APPROLE_PATH").unwrap_or_else(|| "approle".to_owned());
    let path = format!("auth/{}/login", mount.trim_matches('/'));
    let response = send(client, environment, Method::POST, &path, None, body.to_string().into()).await?;
    let body = service_client::json(&response);
    let token = body["auth"]["client_token"].as_str().filter(|_| response.is_success());
    let Some(token) = token else {
        return Err(service_client::by_status(
            TITLE,
            response.status,
            body["errors"][0].as_str().unwrap_or("to our login"),
        ));
    };
    // 0: the token does not expire. Otherwise it is used for nine tenths of its lifetime.
    let seconds = body["auth"]["lease_duration"].as_u64().unwrap_or(0);
    let lifetime =
        if seconds == 0 { Duration::from_hours(24) } else { Duration::from_secs(seconds).mul_f64(0.9) };
    scrub::register(token);
    Ok((Secret::new(token), lifetime))
}
