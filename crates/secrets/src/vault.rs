//! HashiCorp Vault (or OpenBao): KV 1 and 2, with a token or AppRole, optionally in a namespace.
//!
//! The settings are Vault's own variables: `VAULT_ADDR`, `VAULT_NAMESPACE`, `VAULT_CACERT`; `VAULT_TOKEN`, or
//! `VAULT_ROLE_ID` and `VAULT_SECRET_ID` (with `VAULT_APPROLE_PATH` if AppRole is not mounted at `approle`).

use std::collections::HashMap;

use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use postrider_http::{HttpResponse, Method};
use postrider_seams::Secret;
use postrider_seams::secret::Error;
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use crate::resolver::Environment;
use crate::service_client::{self, ServiceClient, ServiceRequest};
use crate::{field, vault::login::VaultToken};

mod login;

const TITLE: &str = "Vault";
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

#[derive(Default)]
pub(crate) struct Vault {
    login: VaultToken,
    /// The mount of each path's first part, and whether it is KV 2; determined as Vault's own command line does.
    mounts: Mutex<HashMap<String, Mount>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    /// Path of the mount, with a slash at its end.
    path: String,
    is_kv2: bool,
}

impl Vault {
    /// Reads a member of a secret. Without `field`, the secret must have exactly one member.
    pub async fn fetch(
        &self,
        client: &ServiceClient,
        environment: &Environment,
        path: &str,
        field: Option<&str>,
    ) -> Result<Secret, Error> {
        let path = path.trim_matches('/');
        if path.is_empty() || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(Error::Reference("write vault://MOUNT/PATH#FIELD".to_owned()));
        }
        let mount = self.mount(client, environment, path).await?;
        let response = self.get(client, environment, &mount.api_path(path)).await?;
        let mut body = service_client::json(&response);
        if !response.is_success() {
            return Err(refusal(response.status, path, &body));
        }
        let data = if mount.is_kv2 { body["data"]["data"].take() } else { body["data"].take() };
        match data {
            Value::Object(members) => member(members, path, field),
            _ => Err(Error::Refused(format!("{TITLE}: {path} was deleted"))),
        }
    }

    async fn mount(
        &self,
        client: &ServiceClient,
        environment: &Environment,
        path: &str,
    ) -> Result<Mount, Error> {
        let first = path.split('/').next().unwrap_or(path);
        if let Some(cached_mount) = self.mounts.lock().await.get(first).filter(|mount| mount.contains(path)) {
            return Ok(cached_mount.clone());
        }
        let response = self.get(client, environment, &format!("sys/internal/ui/mounts/{path}")).await?;
        if response.status >= 500 || response.status == 429 {
            return Err(service_client::by_status(TITLE, response.status, "when asked for its mounts"));
        }
        let body = service_client::json(&response);
        let Some(found) = body["data"]["path"].as_str().filter(|_| response.is_success()) else {
            // The token may not read the mounts: use the path as it is, for KV 1, or for KV 2 if it contains `data/`.
            return Ok(Mount { path: format!("{first}/"), is_kv2: path.split('/').nth(1) == Some("data") });
        };
        let is_kv2 = body["data"]["options"]["version"].as_str() == Some("2");
        let mount = Mount { path: found.to_owned(), is_kv2 };
        self.mounts.lock().await.insert(first.to_owned(), mount.clone());
        Ok(mount)
    }

    /// Sends a read request with our token. If the token is refused, logs in again and retries once.
    async fn get(
        &self,
        client: &ServiceClient,
        environment: &Environment,
        path: &str,
    ) -> Result<HttpResponse, Error> {
        let token = self.login.token(client, environment).await?;
        let response = send(client, environment, Method::GET, path, Some(&token), Bytes::new()).await?;
        if response.status == 403 && self.login.discard(environment, &token).await {
            let token = self.login.token(client, environment).await?;
            return send(client, environment, Method::GET, path, Some(&token), Bytes::new()).await;
        }
        Ok(response)
    }
}

impl Mount {
    fn contains(&self, path: &str) -> bool {
        path.starts_with(&self.path)
    }

    /// Returns the API path of a secret. KV 2 stores secrets below `data/`, which references may omit.
    fn api_path(&self, path: &str) -> String {
        match path.strip_prefix(&self.path) {
            Some(rest) if self.is_kv2 && !rest.starts_with("data/") => format!("{}data/{rest}", self.path),
            _ => path.to_owned(),
        }
    }
}

fn member(mut members: Map<String, Value>, path: &str, field: Option<&str>) -> Result<Secret, Error> {
    let value = match field {
        Some(field) => members
            .remove(field)
            .ok_or_else(|| Error::Refused(format!("{TITLE}: {path} has no member {field}")))?,
        None if members.len() == 1 => members.into_iter().next().map(|(_, value)| value).unwrap_or_default(),
        None => {
            return Err(Error::Reference(format!(
                "{TITLE}: {path} has several members: add #FIELD to the reference"
            )));
        }
    };
    field::to_secret(value)
        .ok_or_else(|| Error::Refused(format!("{TITLE}: the member of {path} is not text")))
}

fn refusal(status: u16, path: &str, body: &Value) -> Error {
    match status {
        404 => Error::Refused(format!("{TITLE}: there is no secret at {path}")),
        403 => Error::Refused(format!("{TITLE}: our token may not read {path}")),
        // Vault is sealed, or a standby cannot reach the active node.
        _ => service_client::by_status(TITLE, status, body["errors"][0].as_str().unwrap_or_default()),
    }
}

async fn send(
    client: &ServiceClient,
    environment: &Environment,
    method: Method,
    path: &str,
    token: Option<&Secret>,
    body: Bytes,
) -> Result<HttpResponse, Error> {
    let address = environment.get("VAULT_ADDR").ok_or_else(|| {
        Error::Unavailable("vault:// needs VAULT_ADDR, such as https://vault.example:8200".to_owned())
    })?;
    let url = format!("{}/v1/{}", address.trim_end_matches('/'), utf8_percent_encode(path, PATH));
    let mut headers = vec![("x-vault-request", "true".to_owned())];
    headers.extend(environment.get("VAULT_NAMESPACE").map(|namespace| ("x-vault-namespace", namespace)));
    headers.extend(token.map(|token| ("x-vault-token", token.reveal().to_owned())));
    if !body.is_empty() {
        headers.push(("content-type", "application/json".to_owned()));
    }
    client.send(ServiceRequest { service_name: TITLE, method, url: &url, headers, body }).await
}
