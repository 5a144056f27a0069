//! Access tokens of Google: from a service account's key file (`GOOGLE_APPLICATION_CREDENTIALS`), otherwise from the
//! metadata server.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use postrider_http::Method;
use postrider_seams::secret::Error;
use postrider_seams::{Secret, scrub};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::resolver::Environment;
use crate::service_client::{self, ServiceClient, ServiceRequest};

const TITLE: &str = "Google's token service";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const METADATA: &str = "metadata.google.internal";
const METADATA_PATH: &str = "/computeMetadata/v1/instance/service-accounts/default/token";
/// How long before its expiry a token is replaced.
const REFRESH_MARGIN: Duration = Duration::from_mins(2);

#[derive(Default)]
pub(crate) struct TokenCache {
    cached: Mutex<Option<(Secret, Instant)>>,
}

impl TokenCache {
    /// Returns the cached token, or requests a new one if it expires within two minutes.
    pub async fn current(&self, client: &ServiceClient, environment: &Environment) -> Result<Secret, Error> {
        let mut cached = self.cached.lock().await;
        if let Some((token, until)) = cached.as_ref()
            && Instant::now() < *until
        {
            return Ok(token.clone());
        }
        let body = match environment.get("GOOGLE_APPLICATION_CREDENTIALS") {
            Some(file) => token_from_key_file(client, environment, &file).await?,
            None => token_from_metadata(client, environment).await?,
        };
        let token = body["access_token"].as_str().map(Secret::new);
        if let Some(token) = &token {
            scrub::register(token.reveal());
        }
        let token = token.ok_or_else(|| Error::Refused(format!("{TITLE} gave no access token")))?;
        let lifetime = Duration::from_secs(body["expires_in"].as_u64().unwrap_or(0));
        *cached = Some((token.clone(), Instant::now() + lifetime.saturating_sub(REFRESH_MARGIN)));
        Ok(token)
    }

    /// Removes the cached token, after it was refused.
    pub async fn clear(&self) {
        *self.cached.lock().await = None;
    }
}

async fn token_from_metadata(client: &ServiceClient, environment: &Environment) -> Result<Value, Error> {
    let host = environment.get("GCE_METADATA_HOST").unwrap_or_else(|| METADATA.to_owned());
    let url = format!("http://{host}{METADATA_PATH}");
    let headers = vec![("metadata-flavor", "Google".to_owned())];
    let request =
        ServiceRequest { service_name: TITLE, method: Method::GET, url: &url, headers, body: Bytes::new() };
    let response = client.send(request).await?;
    // Another server at that address must not be trusted.
    let is_google = response.headers.get("metadata-flavor").is_some_and(|flavor| flavor == "Google");
    if !is_google {
        return Err(Error::Refused(format!("{TITLE}: {host} is not a Google metadata server")));
    }
    if !response.is_success() {
        return Err(service_client::by_status(TITLE, response.status, ""));
    }
    Ok(service_client::json(&response))
}

async fn token_from_key_file(
    client: &ServiceClient,
    environment: &Environment,
    file: &str,
) -> Result<Value, Error> {
    let key = crate::local::file(&environment.base, file).await?;
    let invalid = |what: &str| Error::Refused(format!("the key file {file} {what}"));
    let key: Value = serde_json::from_str(key.reveal()).map_err(|_| invalid("is not JSON"))?;
    if key["type"].as_str() != Some("service_account") {
        return Err(invalid("is not one of a service account"));
    }
    let text = |name: &str| key[name].as_str().ok_or_else(|| invalid(&format!("has no {name}")));
    let (email, audience) = (text("client_email")?, text("token_uri")?);
    let assertion = assertion(email, audience, key["private_key_id"].as_str(), text("private_key")?)
        .map_err(|what| invalid(&what))?;
    let form = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
        .append_pair("assertion", &assertion)
        .finish();
    let headers = vec![("content-type", "application/x-www-form-urlencoded".to_owned())];
    let request = ServiceRequest {
        service_name: TITLE,
        method: Method::POST,
        url: audience,
        headers,
        body: form.into(),
    };
    let response = client.send(request).await?;
    let body = service_client::json(&response);
    if !response.is_success() {
        let text = body["error_description"].as_str().or(body["error"].as_str()).unwrap_or_default();
        return Err(service_client::by_status(TITLE, response.status, text));
    }
    Ok(body)
}

/// Creates a signed JWT (RFC 7523) that is valid for ten minutes.
fn assertion(email: &str, audience: &str, key_id: Option<&str>, key: &str) -> Result<String, String> {
    let key = PrivatePkcs8KeyDer::from_pem_slice(key.as_bytes())
        .map_err(|_| "has a private key that is not PEM")?;
    let key = RsaKeyPair::from_pkcs8(key.secret_pkcs8_der())
        .map_err(|error| format!("has an invalid private key: {error}"))?;
    let now = now();
    let head = json!({ "alg": "RS256", "typ": "JWT", "kid": key_id });
    let claims = json!({ "iss": email, "scope": SCOPE, "aud": audience, "iat": now, "exp": now + 600 });
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(head), part(claims));
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
        .map_err(|_| "has a private key that can't sign")?;
    Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

#[expect(
    clippy::disallowed_methods,
    reason = "an assertion holds the time, and Google compares it with its own"
)]
fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}
