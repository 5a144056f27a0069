//! Resend, `/emails`, with its `Idempotency-Key`: a second request with the same key within a day sends nothing.

use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use postrider_seams::Secret;
use serde_json::{Value, json};

use super::{ProviderApi, text};
use crate::classify::{ErrorCode, FailureKind, RequestFailure};
use crate::client::{ProviderRequest, ProviderResponse};
use crate::encode::{
    RequestContext, base64, format_mailbox, format_mailboxes, metadata, object, post, secret_header, tag_text,
};
use crate::parsed_message::ParsedAttachment;

const TAG_LIMIT: usize = 256;

pub(super) struct Resend {
    pub key: Secret,
}

impl Resend {
    fn post(&self, body: &Value, key: Option<&str>) -> ProviderRequest {
        let mut headers = vec![secret_header(AUTHORIZATION, "Bearer ", &self.key)];
        if let Some(key) = key {
            let value = HeaderValue::try_from(key).expect("the key was made to fit a header");
            headers.push((HeaderName::from_static("idempotency-key"), value));
        }
        post("/emails", body, headers)
    }
}

impl ProviderApi for Resend {
    fn needs_parsed_message(&self) -> bool {
        true
    }

    fn max_recipients(&self) -> usize {
        50
    }

    fn deduplicates(&self) -> bool {
        true
    }

    fn request(&self, context: &RequestContext<'_>) -> ProviderRequest {
        let parsed = context.parsed;
        let mut headers: serde_json::Map<String, Value> =
            parsed.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        headers.insert("Message-ID".to_owned(), json!(format!("<{}>", context.mail.message_id)));
        let text = parsed.text.as_deref().or(parsed.html.is_none().then_some(""));
        let tag = |(name, value): (&str, &str)| json!({"name": tag_text(name, TAG_LIMIT), "value": tag_text(value, TAG_LIMIT)});
        let body = object([
            ("from", parsed.from.as_ref().map(|from| json!(format_mailbox(from))).unwrap_or_default()),
            ("to", json!(format_mailboxes(&context.group.to))),
            ("cc", json!(format_mailboxes(&context.group.cc))),
            ("bcc", json!(format_mailboxes(&context.group.bcc))),
            ("reply_to", json!(format_mailboxes(&parsed.reply_to))),
            ("subject", json!(parsed.subject)),
            ("text", json!(text)),
            ("html", json!(parsed.html)),
            ("headers", Value::Object(headers)),
            ("attachments", parsed.attachments.iter().map(attachment).collect()),
            ("tags", metadata(context).map(tag).collect()),
        ]);
        self.post(&body, Some(&context.key))
    }

    fn probe(&self) -> ProviderRequest {
        self.post(&json!({}), None)
    }

    fn id(&self, response: &ProviderResponse) -> Option<String> {
        response.json()["id"].as_str().map(str::to_owned)
    }

    fn classify_failure(&self, response: &ProviderResponse) -> RequestFailure {
        let body = response.json();
        let (name, message) = (text(&body, "name"), text(&body, "message"));
        let reason = format!("{name}: {message}");
        let classified = |kind, code| RequestFailure::new(response, kind, code, &reason);
        match name {
            "daily_quota_exceeded" | "monthly_quota_exceeded" | "rate_limit_exceeded" => {
                classified(FailureKind::Temporary, ErrorCode::RateLimited)
            }
            "missing_api_key" | "invalid_api_key" | "restricted_api_key" => {
                classified(FailureKind::Refused, ErrorCode::Unauthorized)
            }
            // Another request with our key is running; its answer will be ours.
            "concurrent_idempotent_requests" => classified(FailureKind::Temporary, ErrorCode::ProviderError),
            // 403: the sender's domain is not verified.
            "validation_error" if response.status == 403 => {
                classified(FailureKind::SenderRefused, ErrorCode::Unauthorized)
            }
            _ if response.status < 500
                && ["`to`", "`cc`", "`bcc`"].iter().any(|field| message.contains(field)) =>
            {
                classified(FailureKind::Rejected, ErrorCode::InvalidRecipient)
            }
            "security_error" => classified(FailureKind::Rejected, ErrorCode::ValidationError),
            _ => RequestFailure::by_status(response, &reason),
        }
    }
}

fn attachment(attachment: &ParsedAttachment) -> Value {
    object([
        ("filename", json!(attachment.name)),
        ("content", json!(base64(&attachment.content))),
        ("content_type", json!(attachment.media_type)),
        ("content_id", json!(attachment.content_id)),
    ])
}
