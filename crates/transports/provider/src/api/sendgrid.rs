//! SendGrid, v3 `mail/send`. Has no idempotency keys; gets the envelope's key in `custom_args`.

use http::header::AUTHORIZATION;
use postrider_broker::Secret;
use serde_json::{Value, json};

use super::{Api, text};
use crate::classify::{Code, Fate, Judgement};
use crate::client::{Answer, Request};
use crate::draft::{Attachment, Draft, Mailbox};
use crate::encode::{Job, base64, metadata, object, post, secret};

const PATH: &str = "/v3/mail/send";

pub(super) struct SendGrid {
    pub key: Secret,
}

impl SendGrid {
    fn post(&self, body: &Value) -> Request {
        post(PATH, body, vec![secret(AUTHORIZATION, "Bearer ", &self.key)])
    }
}

impl Api for SendGrid {
    fn wants_parts(&self) -> bool {
        true
    }

    fn recipients(&self) -> usize {
        1000
    }

    fn request(&self, job: &Job<'_>) -> Request {
        let draft = job.draft;
        let personal = object([
            ("to", mailboxes(&job.part.to)),
            ("cc", mailboxes(&job.part.cc)),
            ("bcc", mailboxes(&job.part.bcc)),
        ]);
        let mut headers: serde_json::Map<String, Value> =
            draft.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        headers.insert("Message-ID".to_owned(), json!(format!("<{}>", job.mail.message_id)));
        let custom: serde_json::Map<String, Value> =
            metadata(job).map(|(name, value)| (name.to_owned(), json!(value))).collect();
        self.post(&object([
            ("personalizations", json!([personal])),
            ("from", draft.from.as_ref().map(mailbox).unwrap_or_default()),
            ("reply_to_list", mailboxes(&draft.reply_to)),
            ("subject", json!(draft.subject)),
            ("content", content(draft)),
            ("attachments", draft.attachments.iter().map(attachment).collect()),
            ("headers", Value::Object(headers)),
            ("custom_args", Value::Object(custom)),
        ]))
    }

    fn probe(&self) -> Request {
        self.post(&json!({}))
    }

    fn id(&self, answer: &Answer) -> Option<String> {
        answer.header("x-message-id").map(str::to_owned)
    }

    fn judge(&self, answer: &Answer) -> Judgement {
        let body = answer.json();
        let errors = body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        let words: Vec<&str> = errors.iter().map(|error| text(error, "message")).collect();
        let words = words.join("; ");
        let of = |place: &str| errors.iter().any(|error| text(error, "field").starts_with(place));
        match answer.status {
            // For an unverified sender the error names the field; every other 403 concerns the account.
            403 if of("from") => Judgement::new(answer, Fate::Suspect, Code::Unauthorized, &words),
            400 if of("personalizations") && words.contains("valid address") => {
                Judgement::new(answer, Fate::Rejected, Code::InvalidRecipient, &words)
            }
            _ => Judgement::by_status(answer, &words),
        }
    }
}

fn mailbox(mailbox: &Mailbox) -> Value {
    object([("email", json!(mailbox.email)), ("name", json!(mailbox.name))])
}

fn mailboxes(list: &[Mailbox]) -> Value {
    list.iter().map(mailbox).collect()
}

/// Returns the bodies, text first as the reference requires; an empty body is refused and becomes a space.
fn content(draft: &Draft) -> Value {
    let part =
        |kind: &str, body: &str| json!({"type": kind, "value": if body.is_empty() { " " } else { body }});
    let text = draft.text.as_deref().or(draft.html.is_none().then_some(""));
    let mut content: Vec<Value> = text.map(|text| part("text/plain", text)).into_iter().collect();
    content.extend(draft.html.as_deref().map(|html| part("text/html", html)));
    Value::Array(content)
}

fn attachment(attachment: &Attachment) -> Value {
    let disposition = if attachment.inline { "inline" } else { "attachment" };
    object([
        ("content", json!(base64(&attachment.content))),
        ("type", json!(attachment.media_type)),
        ("filename", json!(attachment.name)),
        ("disposition", json!(disposition)),
        ("content_id", json!(attachment.content_id)),
    ])
}
