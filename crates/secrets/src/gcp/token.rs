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

use crate::safe::Environment;
use crate::web::{self, Ask, Web};

const TITLE: &str = "Google's token service";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const METADATA: &str = "metadata.google.internal";
const METADATA_PATH: &str = "/computeMetadata/v1/instance/service-accounts/default/token";
/// How long before its expiry a token is replaced.
const MARGIN: Duration = Duration::from_mins(2);

#[derive(Default)]
pub(crate) struct Tokens {
    kept: Mutex<Option<(Secret, Instant)>>,
}

impl Tokens {
    /// Returns the cached token, or requests a new one if it expires within two minutes.
    pub async fn current(&self, web: &Web, environment: &Environment) -> Result<Secret, Error> {
        let mut kept = self.kept.lock().await;
        if let Some((token, until)) = kept.as_ref()
            && Instant::now() < *until
        {
            return Ok(token.clone());
        }
        let said = match environment.get("GOOGLE_APPLICATION_CREDENTIALS") {
            Some(file) => by_key_file(web, environment, &file).await?,
            None => by_metadata(web, environment).await?,
        };
        let token = said["access_token"].as_str().map(Secret::new);
        if let Some(token) = &token {
            scrub::register(token.reveal());
        }
        let token = token.ok_or_else(|| Error::Refused(format!("{TITLE} gave no access token")))?;
        let lasts = Duration::from_secs(said["expires_in"].as_u64().unwrap_or(0));
        *kept = Some((token.clone(), Instant::now() + lasts.saturating_sub(MARGIN)));
        Ok(token)
    }

    /// Removes the cached token, after it was refused.
    pub async fn forget(&self) {
        *self.kept.lock().await = None;
    }
}

async fn by_metadata(web: &Web, environment: &Environment) -> Result<Value, Error> {
    let host = environment.get("GCE_METADATA_HOST").unwrap_or_else(|| METADATA.to_owned());
    let url = format!("http://{host}{METADATA_PATH}");
    let headers = vec![("metadata-flavor", "Google".to_owned())];
    let ask = Ask { whom: TITLE, method: Method::GET, url: &url, headers, body: Bytes::new() };
    let answer = web.ask(ask).await?;
    // Another server at that address must not be trusted.
    let genuine = answer.headers.get("metadata-flavor").is_some_and(|flavor| flavor == "Google");
    if !genuine {
        return Err(Error::Refused(format!("{TITLE}: {host} is no metadata server of Google's")));
    }
    if !answer.is_success() {
        return Err(web::by_status(TITLE, answer.status, ""));
    }
    Ok(web::json(&answer))
}

async fn by_key_file(web: &Web, environment: &Environment, file: &str) -> Result<Value, Error> {
    let key = crate::local::file(&environment.base, file).await?;
    let wrong = |what: &str| Error::Refused(format!("the key file {file} {what}"));
    let key: Value = serde_json::from_str(key.reveal()).map_err(|_| wrong("is no JSON"))?;
    if key["type"].as_str() != Some("service_account") {
        return Err(wrong("is not one of a service account"));
    }
    let text = |name: &str| key[name].as_str().ok_or_else(|| wrong(&format!("has no {name}")));
    let (email, audience) = (text("client_email")?, text("token_uri")?);
    let assertion = assertion(email, audience, key["private_key_id"].as_str(), text("private_key")?)
        .map_err(|what| wrong(&what))?;
    let form = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
        .append_pair("assertion", &assertion)
        .finish();
    let headers = vec![("content-type", "application/x-www-form-urlencoded".to_owned())];
    let ask = Ask { whom: TITLE, method: Method::POST, url: audience, headers, body: form.into() };
    let answer = web.ask(ask).await?;
    let said = web::json(&answer);
    if !answer.is_success() {
        let words = said["error_description"].as_str().or(said["error"].as_str()).unwrap_or_default();
        return Err(web::by_status(TITLE, answer.status, words));
    }
    Ok(said)
}

/// Creates a signed JWT (RFC 7523) that is valid for ten minutes.
fn assertion(email: &str, audience: &str, key_id: Option<&str>, key: &str) -> Result<String, String> {
    let key =
        PrivatePkcs8KeyDer::from_pem_slice(key.as_bytes()).map_err(|_| "has a private key that is no PEM")?;
    let key = RsaKeyPair::from_pkcs8(key.secret_pkcs8_der())
        .map_err(|error| format!("has a bad private key: {error}"))?;
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
