//! AWS Secrets Manager and SSM Parameter Store, over their JSON protocol with Signature Version 4.
//!
//! Credentials, region and endpoints come from the same sources as for AWS's own tools.

use std::time::{Duration, SystemTime};

use aws_config::BehaviorVersion;
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use postrider_http::Method;
use postrider_seams::secret::Error;
use postrider_seams::{Secret, scrub};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::resolver::Environment;
use crate::service_client::{self, ServiceClient, ServiceRequest};

/// Time limit for obtaining credentials, as long as that of reading a secret.
const CREDENTIALS_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Service {
    SecretsManager,
    Ssm,
}

impl Service {
    fn name(self) -> &'static str {
        match self {
            Self::SecretsManager => "secretsmanager",
            Self::Ssm => "ssm",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::SecretsManager => "AWS Secrets Manager",
            Self::Ssm => "AWS SSM",
        }
    }

    fn operation(self) -> &'static str {
        match self {
            Self::SecretsManager => "secretsmanager.GetSecretValue",
            Self::Ssm => "AmazonSSM.GetParameter",
        }
    }

    fn request_body(self, name: &str) -> Value {
        match self {
            Self::SecretsManager => json!({ "SecretId": name }),
            Self::Ssm => json!({ "Name": name, "WithDecryption": true }),
        }
    }

    fn endpoint_variable(self) -> &'static str {
        match self {
            Self::SecretsManager => "AWS_ENDPOINT_URL_SECRETS_MANAGER",
            Self::Ssm => "AWS_ENDPOINT_URL_SSM",
        }
    }

    fn secret(self, response: &Value) -> Option<Secret> {
        match self {
            Self::Ssm => response["Parameter"]["Value"].as_str().map(Secret::new),
            Self::SecretsManager => {
                let text = response["SecretString"].as_str().map(Secret::new);
                text.or_else(|| {
                    let bytes = STANDARD.decode(response["SecretBinary"].as_str()?).ok()?;
                    String::from_utf8(bytes).ok().map(Secret::new)
                })
            }
        }
    }
}

#[derive(Default)]
pub(crate) struct Aws {
    source: OnceCell<CredentialSource>,
}

struct CredentialSource {
    region: Option<String>,
    provider: SharedCredentialsProvider,
}

impl Aws {
    /// Reads a secret or parameter by its name or ARN; an error if there are no credentials or no region.
    pub async fn fetch(
        &self,
        client: &ServiceClient,
        environment: &Environment,
        service: Service,
        name: &str,
    ) -> Result<Secret, Error> {
        let title = service.title();
        let source = self.source.get_or_try_init(|| load(environment)).await?;
        let region = region_of_arn(name).or(source.region.as_deref()).ok_or_else(|| {
            Error::Reference(format!(
                "{title}: no region is known; set AWS_REGION, or name the secret by its ARN"
            ))
        })?;
        let url = endpoint(environment, service, region);
        let body = Bytes::from(service.request_body(name).to_string());
        let mut headers = vec![
            ("content-type", "application/x-amz-json-1.1".to_owned()),
            ("x-amz-target", service.operation().to_owned()),
        ];
        let credentials = tokio::time::timeout(CREDENTIALS_TIMEOUT, source.provider.provide_credentials())
            .await
            .map_err(|_| Error::Unavailable(format!("{title}: no AWS credentials in time")))?
            .map_err(|error| Error::Unavailable(format!("{title}: no AWS credentials: {error}")))?;
        scrub::register(credentials.secret_access_key());
        credentials.session_token().into_iter().for_each(scrub::register);
        headers.extend(signature(credentials, region, service, &url, &headers, &body)?);
        let response = client
            .send(ServiceRequest { service_name: title, method: Method::POST, url: &url, headers, body })
            .await?;
        let body = service_client::json(&response);
        if !response.is_success() {
            return Err(refusal(title, response.status, &body));
        }
        service.secret(&body).ok_or_else(|| Error::Refused(format!("{title}: the secret is not text")))
    }
}

/// Loads the region and credentials from AWS's default chain. Environment variables come first, as they do there, and
/// need none of its files and servers.
async fn load(environment: &Environment) -> Result<CredentialSource, Error> {
    let region = environment.get("AWS_REGION").or_else(|| environment.get("AWS_DEFAULT_REGION"));
    let keys = environment.get("AWS_ACCESS_KEY_ID").zip(environment.get("AWS_SECRET_ACCESS_KEY"));
    if let (Some(_), Some((id, key))) = (&region, keys) {
        let session = environment.get("AWS_SESSION_TOKEN");
        let keys = Credentials::new(id, key, session, None, "environment");
        return Ok(CredentialSource { region, provider: SharedCredentialsProvider::new(keys) });
    }
    let http = postrider_aws::http_client();
    let config = aws_config::defaults(BehaviorVersion::latest()).http_client(http).load().await;
    let provider = config
        .credentials_provider()
        .ok_or_else(|| Error::Unavailable("there are no AWS credentials".to_owned()))?;
    // The provider caches its credentials until they expire.
    Ok(CredentialSource { region: region.or_else(|| config.region().map(ToString::to_string)), provider })
}

/// Returns the region in `arn:aws:secretsmanager:REGION:account:secret:name`; `None` for a plain name.
fn region_of_arn(name: &str) -> Option<&str> {
    name.strip_prefix("arn:")?.split(':').nth(2).filter(|region| !region.is_empty())
}

fn endpoint(environment: &Environment, service: Service, region: &str) -> String {
    let chosen = environment.get(service.endpoint_variable()).or_else(|| environment.get("AWS_ENDPOINT_URL"));
    chosen.map_or_else(
        || {
            let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
            format!("https://{}.{region}.{suffix}/", service.name())
        },
        |url| format!("{}/", url.trim_end_matches('/')),
    )
}

fn signature(
    credentials: Credentials,
    region: &str,
    service: Service,
    url: &str,
    headers: &[(&'static str, String)],
    body: &[u8],
) -> Result<Vec<(&'static str, String)>, Error> {
    let signing_error =
        |error: &dyn std::fmt::Display| Error::Reference(format!("the request can't be signed: {error}"));
    let identity = credentials.into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(service.name())
        .time(now())
        .settings(SigningSettings::default())
        .build()
        .map_err(|error| signing_error(&error))?
        .into();
    let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
    let signed = SignableRequest::new("POST", url, headers, SignableBody::Bytes(body))
        .and_then(|signable| sign(signable, &params))
        .map_err(|error| signing_error(&error))?;
    let (instructions, _) = signed.into_parts();
    let (signature_headers, _) = instructions.into_parts();
    Ok(signature_headers.iter().map(|header| (header.name(), header.value().to_owned())).collect())
}

/// Classifies an error by its type: `ResourceNotFoundException`, `AccessDeniedException`, `ThrottlingException`.
fn refusal(title: &str, status: u16, body: &Value) -> Error {
    let kind = body["__type"].as_str().unwrap_or_default();
    let kind = kind.rsplit('#').next().unwrap_or(kind);
    let message = body["message"].as_str().or(body["Message"].as_str()).unwrap_or_default();
    match kind {
        "ThrottlingException" | "InternalServiceError" | "InternalServerError" | "RequestExpired" => {
            Error::Unavailable(format!("{title}: {kind}: {message}"))
        }
        "" => service_client::by_status(title, status, message),
        _ if status >= 500 => Error::Unavailable(format!("{title}: {kind}: {message}")),
        _ => Error::Refused(format!("{title}: {kind}: {message}")),
    }
}

#[expect(clippy::disallowed_methods, reason = "a signature holds the time, and AWS compares it with its own")]
fn now() -> SystemTime {
    SystemTime::now()
}
