//! Postmark, `/email`. Has no idempotency keys; keeps our Message-ID and gets the envelope's key in `Metadata`.

use http::header::HeaderName;
use postrider_seams::Secret;
use serde_json::{Value, json};

use super::{ProviderApi, text};
use crate::classify::{ErrorCode, FailureKind, RequestFailure};
use crate::client::{ProviderRequest, ProviderResponse};
use crate::encode::{
    RequestContext, base64, format_mailbox, format_mailboxes, metadata, object, post, secret_header,
};
use crate::parsed_message::ParsedAttachment;

/// Limits of Postmark's metadata: number of entries, length of a name, length of a value.
const METADATA: (usize, usize, usize) = (10, 20, 80);

pub(super) struct Postmark {
    pub key: Secret,
    pub stream: Option<String>,
}

impl Postmark {
    fn post(&self, body: &Value) -> ProviderRequest {
        post(
            "/email",
            body,
            vec![secret_header(HeaderName::from_static("x-postmark-server-token"), "", &self.key)],
        )
    }
}

impl ProviderApi for Postmark {
    fn needs_parsed_message(&self) -> bool {
        true
    }

    fn max_recipients(&self) -> usize {
        50
    }

    fn request(&self, context: &RequestContext<'_>) -> ProviderRequest {
        let parsed = context.parsed;
        let header = |name: &str, value: &str| json!({"Name": name, "Value": value});
        let mut headers: Vec<Value> =
            parsed.headers.iter().map(|(name, value)| header(name, value)).collect();
        headers.push(header("Message-ID", &format!("<{}>", context.mail.message_id)));
        headers.push(header("X-PM-KeepID", "true"));
        let list = |mailboxes: &[_]| match format_mailboxes(mailboxes) {
            some if some.is_empty() => Value::Null,
            some => json!(some.join(", ")),
        };
        let text = parsed.text.as_deref().or(parsed.html.is_none().then_some(""));
        let (limit, name_limit, value_limit) = METADATA;
        let cached: serde_json::Map<String, Value> = metadata(context)
            .filter(|(name, value)| name.len() <= name_limit && value.chars().count() <= value_limit)
            .take(limit)
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        self.post(&object([
            ("From", parsed.from.as_ref().map(|from| json!(format_mailbox(from))).unwrap_or_default()),
            ("To", list(&context.group.to)),
            ("Cc", list(&context.group.cc)),
            ("Bcc", list(&context.group.bcc)),
            ("ReplyTo", list(&parsed.reply_to)),
            ("Subject", json!(parsed.subject)),
            ("TextBody", json!(text)),
            ("HtmlBody", json!(parsed.html)),
            ("Headers", Value::Array(headers)),
            ("Attachments", parsed.attachments.iter().map(attachment).collect()),
            ("Metadata", Value::Object(cached)),
            ("MessageStream", json!(self.stream)),
        ]))
    }

    fn probe(&self) -> ProviderRequest {
        self.post(&json!({}))
    }

    fn id(&self, response: &ProviderResponse) -> Option<String> {
        response.json()["MessageID"].as_str().map(str::to_owned)
    }

    /// "Message OK, but will not deliver to these inactive addresses: …": the other recipients get it.
    fn omitted_recipients(
        &self,
        response: &ProviderResponse,
        context: &RequestContext<'_>,
    ) -> Vec<(String, String)> {
        let body = response.json();
        let Some((_, list)) = text(&body, "Message").split_once("inactive addresses:") else {
            return Vec::new();
        };
        let list = list.to_ascii_lowercase();
        let named = |address: &&str| {
            list.split([',', ' ', ';']).any(|word| word.trim_end_matches('.') == address.to_ascii_lowercase())
        };
        context
            .group
            .addresses()
            .filter(named)
            .map(|address| (address.to_owned(), "inactive at Postmark".to_owned()))
            .collect()
    }

    fn classify_failure(&self, response: &ProviderResponse) -> RequestFailure {
        let body = response.json();
        let reason = text(&body, "Message");
        let classified = |kind, code| RequestFailure::new(response, kind, code, reason);
        let recipient = ["'To'", "'Cc'", "'Bcc'"].iter().any(|field| reason.contains(field));
        match body["ErrorCode"].as_u64() {
            // Missing or wrong token; out of credit; pending; closed; no such stream.
            Some(10 | 405 | 412 | 413 | 1235) => classified(FailureKind::Refused, ErrorCode::Unauthorized),
            Some(100) => classified(FailureKind::Temporary, ErrorCode::ProviderError),
            Some(300) if recipient => classified(FailureKind::Rejected, ErrorCode::InvalidRecipient),
            Some(400 | 401) => classified(FailureKind::SenderRefused, ErrorCode::Unauthorized),
            Some(406) => classified(FailureKind::Rejected, ErrorCode::InvalidRecipient),
            Some(429) => classified(FailureKind::Temporary, ErrorCode::RateLimited),
            _ => RequestFailure::by_status(response, reason),
        }
    }
}

fn attachment(attachment: &ParsedAttachment) -> Value {
    let id = attachment.content_id.as_ref().filter(|_| attachment.inline).map(|id| format!("cid:{id}"));
    object([
        ("Name", json!(attachment.name)),
        ("Content", json!(base64(&attachment.content))),
        ("ContentType", json!(attachment.media_type)),
        ("ContentID", json!(id)),
    ])
}
