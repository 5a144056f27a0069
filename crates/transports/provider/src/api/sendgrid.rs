//! SendGrid, v3 `mail/send`. Has no idempotency keys; gets the envelope's key in `custom_args`.

use http::header::AUTHORIZATION;
use postrider_seams::Secret;
use serde_json::{Value, json};

use super::{ProviderApi, text};
use crate::classify::{ErrorCode, FailureKind, RequestFailure};
use crate::client::{ProviderRequest, ProviderResponse};
use crate::encode::{RequestContext, base64, metadata, object, post, secret_header};
use crate::parsed_message::{ParsedAttachment, ParsedMailbox, ParsedMessage};

const PATH: &str = "/v3/mail/send";

pub(super) struct SendGrid {
    pub key: Secret,
}

impl SendGrid {
    fn post(&self, body: &Value) -> ProviderRequest {
        post(PATH, body, vec![secret_header(AUTHORIZATION, "Bearer ", &self.key)])
    }
}

impl ProviderApi for SendGrid {
    fn needs_parsed_message(&self) -> bool {
        true
    }

    fn max_recipients(&self) -> usize {
        1000
    }

    fn request(&self, context: &RequestContext<'_>) -> ProviderRequest {
        let parsed = context.parsed;
        let personal = object([
            ("to", mailboxes(&context.group.to)),
            ("cc", mailboxes(&context.group.cc)),
            ("bcc", mailboxes(&context.group.bcc)),
        ]);
        let mut headers: serde_json::Map<String, Value> =
            parsed.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        headers.insert("Message-ID".to_owned(), json!(format!("<{}>", context.mail.message_id)));
        let custom: serde_json::Map<String, Value> =
            metadata(context).map(|(name, value)| (name.to_owned(), json!(value))).collect();
        self.post(&object([
            ("personalizations", json!([personal])),
            ("from", parsed.from.as_ref().map(mailbox).unwrap_or_default()),
            ("reply_to_list", mailboxes(&parsed.reply_to)),
            ("subject", json!(parsed.subject)),
            ("content", content(parsed)),
            ("attachments", parsed.attachments.iter().map(attachment).collect()),
            ("headers", Value::Object(headers)),
            ("custom_args", Value::Object(custom)),
        ]))
    }

    fn probe(&self) -> ProviderRequest {
        self.post(&json!({}))
    }

    fn id(&self, response: &ProviderResponse) -> Option<String> {
        response.header("x-message-id").map(str::to_owned)
    }

    fn classify_failure(&self, response: &ProviderResponse) -> RequestFailure {
        let body = response.json();
        let errors = body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        let reason: Vec<&str> = errors.iter().map(|error| text(error, "message")).collect();
        let reason = reason.join("; ");
        let of = |place: &str| errors.iter().any(|error| text(error, "field").starts_with(place));
        match response.status {
            // For an unverified sender the error names the field; every other 403 concerns the account.
            403 if of("from") => {
                RequestFailure::new(response, FailureKind::SenderRefused, ErrorCode::Unauthorized, &reason)
            }
            400 if of("personalizations") && reason.contains("valid address") => {
                RequestFailure::new(response, FailureKind::Rejected, ErrorCode::InvalidRecipient, &reason)
            }
            _ => RequestFailure::by_status(response, &reason),
        }
    }
}

fn mailbox(mailbox: &ParsedMailbox) -> Value {
    object([("email", json!(mailbox.email)), ("name", json!(mailbox.name))])
}

fn mailboxes(list: &[ParsedMailbox]) -> Value {
    list.iter().map(mailbox).collect()
}

/// Returns the bodies, text first as the reference requires; an empty body is refused and becomes a space.
fn content(parsed: &ParsedMessage) -> Value {
    let group =
        |kind: &str, body: &str| json!({"type": kind, "value": if body.is_empty() { " " } else { body }});
    let text = parsed.text.as_deref().or(parsed.html.is_none().then_some(""));
    let mut content: Vec<Value> = text.map(|text| group("text/plain", text)).into_iter().collect();
    content.extend(parsed.html.as_deref().map(|html| group("text/html", html)));
    Value::Array(content)
}

fn attachment(attachment: &ParsedAttachment) -> Value {
    let disposition = if attachment.inline { "inline" } else { "attachment" };
    object([
        ("content", json!(base64(&attachment.content))),
        ("type", json!(attachment.media_type)),
        ("filename", json!(attachment.name)),
        ("disposition", json!(disposition)),
        ("content_id", json!(attachment.content_id)),
    ])
}
