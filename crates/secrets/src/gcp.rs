//! Google Secret Manager, over its REST API.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use postrider_http::Method;
use postrider_seams::Secret;
use postrider_seams::secret::Error;

use crate::resolver::Environment;
use crate::service_client::{self, ServiceClient, ServiceRequest};

mod token;

const TITLE: &str = "Google Secret Manager";
const ENDPOINT: &str = "https://secretmanager.googleapis.com";
/// The variable for the endpoint, as gcloud names it; for emulators and private endpoints.
const ENDPOINT_VARIABLE: &str = "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER";

#[derive(Default)]
pub(crate) struct Gcp {
    token_cache: token::TokenCache,
}

impl Gcp {
    /// Reads a version of a secret; without a version in the path, the latest.
    pub async fn fetch(
        &self,
        client: &ServiceClient,
        environment: &Environment,
        path: &str,
    ) -> Result<Secret, Error> {
        let name = version_path(path)?;
        let token = self.token_cache.current(client, environment).await?;
        let endpoint = environment.get(ENDPOINT_VARIABLE).unwrap_or_else(|| ENDPOINT.to_owned());
        let url = format!("{}/v1/{name}:access", endpoint.trim_end_matches('/'));
        let headers = vec![("authorization", format!("Bearer {}", token.reveal()))];
        let request = ServiceRequest {
            service_name: TITLE,
            method: Method::GET,
            url: &url,
            headers,
            body: Bytes::new(),
        };
        let response = client.send(request).await?;
        let body = service_client::json(&response);
        if response.status == 401 {
            self.token_cache.clear().await;
            return Err(Error::Unavailable(format!("{TITLE}: our token is no longer valid")));
        }
        if !response.is_success() {
            return Err(service_client::by_status(
                TITLE,
                response.status,
                body["error"]["message"].as_str().unwrap_or_default(),
            ));
        }
        secret(&body["payload"])
    }
}

/// Returns the path of the reference, with the latest version if it names none.
fn version_path(path: &str) -> Result<String, Error> {
    let is_valid = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
    };
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["projects", project, "secrets", secret] if is_valid(project) && is_valid(secret) => {
            Ok(format!("{path}/versions/latest"))
        }
        ["projects", project, "secrets", secret, "versions", version]
            if is_valid(project) && is_valid(secret) && is_valid(version) =>
        {
            Ok(path.to_owned())
        }
        _ => Err(Error::Reference(
            "write gcp-secretmanager://projects/PROJECT/secrets/SECRET, optionally with /versions/VERSION"
                .to_owned(),
        )),
    }
}

fn secret(payload: &serde_json::Value) -> Result<Secret, Error> {
    let invalid = |what: &str| Error::Refused(format!("{TITLE}: the secret {what}"));
    let data = payload["data"].as_str().ok_or_else(|| invalid("has no data"))?;
    let bytes = STANDARD.decode(data).map_err(|_| invalid("is not base64"))?;
    if let Some(sum) = payload["dataCrc32c"].as_str()
        && sum.parse() != Ok(crc32c(&bytes))
    {
        return Err(Error::Unavailable(format!("{TITLE}: the secret was damaged in transit")));
    }
    String::from_utf8(bytes).map(Secret::new).map_err(|_| invalid("is not text"))
}

/// The CRC-32C (Castagnoli) checksum, bit by bit, which is fast enough for short secrets.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc: u32, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32c_matches_the_reference_value() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn j11_the_latest_version_is_meant_where_none_is_named() {
        assert_eq!(version_path("projects/x/secrets/y").unwrap(), "projects/x/secrets/y/versions/latest");
        assert_eq!(
            version_path("projects/x/secrets/y/versions/3").unwrap(),
            "projects/x/secrets/y/versions/3"
        );
        for invalid in [
            "y",
            "projects/x",
            "projects//secrets/y",
            "projects/x/secrets/y/versions/",
            "projects/x/secrets/../y",
        ] {
            version_path(invalid).unwrap_err();
        }
    }
}
