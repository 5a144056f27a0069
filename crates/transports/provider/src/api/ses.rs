//! Amazon SES, v2 `SendEmail` with the raw message, signed with Signature Version 4. Has no idempotency keys.

use std::time::{Duration, SystemTime};

use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use http::header::{HeaderName, HeaderValue};
use postrider_aws::register_credentials;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{ProviderApi, text};
use crate::classify::{ErrorCode, FailureKind, RequestFailure};
use crate::client::{ProviderRequest, ProviderResponse};
use crate::config::Settings;
use crate::encode::{RequestContext, base64, metadata, object, post, tag_text};

const PATH: &str = "/v2/email/outbound-emails";
const TAG_LIMIT: usize = 256;

/// Credentials are loaded again this long before they expire, or after this long if they never do.
const REFRESH_MARGIN: Duration = Duration::from_mins(5);

pub(super) struct Ses {
    pub configuration_set: Option<String>,
}

impl ProviderApi for Ses {
    fn needs_parsed_message(&self) -> bool {
        false
    }

    fn max_recipients(&self) -> usize {
        50
    }

    fn request(&self, context: &RequestContext<'_>) -> ProviderRequest {
        let tag = |(name, value): (&str, &str)| json!({"Name": tag_text(name, TAG_LIMIT), "Value": tag_text(value, TAG_LIMIT)});
        let addresses: Vec<&str> = context.group.addresses().collect();
        let body = object([
            ("Content", json!({"Raw": {"Data": base64(&context.mail.message)}})),
            ("Destination", json!({"ToAddresses": addresses})),
            ("ConfigurationSetName", json!(self.configuration_set)),
            ("EmailTags", metadata(context).map(tag).collect::<Value>()),
        ]);
        post(PATH, &body, Vec::new())
    }

    fn probe(&self) -> ProviderRequest {
        post(PATH, &json!({}), Vec::new())
    }

    fn id(&self, response: &ProviderResponse) -> Option<String> {
        response.json()["MessageId"].as_str().map(str::to_owned)
    }

    fn classify_failure(&self, response: &ProviderResponse) -> RequestFailure {
        let body = response.json();
        let message = [text(&body, "message"), text(&body, "Message")].concat();
        let kind = response.header("x-amzn-errortype").unwrap_or_else(|| text(&body, "__type"));
        // `com.amazonaws.ses.v2#MessageRejected`, `MessageRejected:http://…`.
        let kind = kind.split(':').next().and_then(|kind| kind.rsplit(['#', '.']).next()).unwrap_or_default();
        let reason = format!("{kind}: {message}");
        let classified = |kind, code| RequestFailure::new(response, kind, code, &reason);
        let address =
            ["@domain", "illegal character", "control or whitespace", "Illegal address", "illegal address"];
        match kind {
            "TooManyRequestsException" | "ThrottlingException" | "Throttling" | "LimitExceededException" => {
                classified(FailureKind::Temporary, ErrorCode::RateLimited)
            }
            "AccountSuspendedException"
            | "SendingPausedException"
            | "NotFoundException"
            | "AccessDeniedException"
            | "UnrecognizedClientException"
            | "InvalidClientTokenId"
            | "InvalidSignatureException"
            | "SignatureDoesNotMatch"
            | "IncompleteSignature"
            | "MissingAuthenticationToken"
            | "MissingAuthenticationTokenException"
            | "ExpiredTokenException"
            | "ExpiredToken"
            | "RequestExpired"
            | "OptInRequired" => classified(FailureKind::Refused, ErrorCode::Unauthorized),
            "MailFromDomainNotVerifiedException" => {
                classified(FailureKind::SenderRefused, ErrorCode::Unauthorized)
            }
            "MessageRejected" if message.contains("not verified") => {
                classified(FailureKind::SenderRefused, ErrorCode::Unauthorized)
            }
            "MessageRejected" => classified(FailureKind::Rejected, ErrorCode::ValidationError),
            "BadRequestException" if address.iter().any(|reason| message.contains(reason)) => {
                classified(FailureKind::Rejected, ErrorCode::InvalidRecipient)
            }
            "InternalServiceErrorException" | "InternalFailure" | "ServiceUnavailable" => {
                classified(FailureKind::Temporary, ErrorCode::ProviderError)
            }
            _ => RequestFailure::by_status(response, &reason),
        }
    }
}

/// Signs requests. Credentials come from the settings or AWS's default chain and are cached while fresh.
pub(crate) struct SesSigner {
    pub region: String,
    provider: SharedCredentialsProvider,
    cached: Mutex<Option<(Credentials, SystemTime)>>,
}

impl SesSigner {
    /// Loads AWS's default settings for what ours leave out. The error names what is missing.
    pub async fn load(settings: &Settings) -> Result<Self, String> {
        let http = postrider_aws::http_client();
        let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(http);
        if let Some(region) = &settings.region {
            loader = loader.region(Region::new(region.clone()));
        }
        if let Some(keys) = &settings.aws {
            let secret = keys.secret_key.reveal();
            loader = loader.credentials_provider(Credentials::new(
                &keys.access_key,
                secret,
                None,
                None,
                "settings",
            ));
        }
        let config = loader.load().await;
        let region =
            config.region().ok_or("no AWS region is known: write ses://eu-west-1, or set AWS_REGION")?;
        let provider = config.credentials_provider().ok_or("there are no AWS credentials")?;
        Ok(Self { region: region.to_string(), provider, cached: Mutex::default() })
    }

    /// Adds the signature headers to a request.
    pub async fn sign(&self, base: &str, request: &mut ProviderRequest) -> Result<(), String> {
        let now = now();
        let credentials = self.credentials(now).await?;
        let identity = credentials.into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name("ses")
            .time(now)
            .settings(SigningSettings::default())
            .build()
            .map_err(|error| format!("the request can't be signed: {error}"))?
            .into();
        let url = format!("{base}{}", request.path);
        let headers =
            request.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default()));
        let signable =
            SignableRequest::new(request.method.as_str(), url, headers, SignableBody::Bytes(&request.body));
        let signed = signable
            .and_then(|signable| sign(signable, &params))
            .map_err(|error| format!("the request can't be signed: {error}"))?;
        let (instructions, _) = signed.into_parts();
        for header in instructions.into_parts().0 {
            let mut value =
                HeaderValue::try_from(header.value()).map_err(|_| "the signature is not a valid header")?;
            value.set_sensitive(true);
            request.headers.push((HeaderName::from_static(header.name()), value));
        }
        Ok(())
    }

    async fn credentials(&self, now: SystemTime) -> Result<Credentials, String> {
        let mut cached = self.cached.lock().await;
        if let Some((credentials, until)) = &*cached
            && now < *until
        {
            return Ok(credentials.clone());
        }
        let credentials = self
            .provider
            .provide_credentials()
            .await
            .map_err(|error| format!("no AWS credentials are available: {error}"))?;
        register_credentials(&credentials);
        let until = credentials.expiry().map_or(now + REFRESH_MARGIN, |expiry| expiry - REFRESH_MARGIN);
        *cached = Some((credentials.clone(), until));
        Ok(credentials)
    }
}

#[expect(clippy::disallowed_methods, reason = "a signature holds the time, and AWS compares it with its own")]
fn now() -> SystemTime {
    SystemTime::now()
}
