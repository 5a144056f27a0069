//! Postmark, `/email`. Has no idempotency keys; keeps our Message-ID and gets the envelope's key in `Metadata`.

use http::header::HeaderName;
use postrider_broker::Secret;
use serde_json::{Value, json};

use super::{Api, text};
use crate::classify::{Code, Fate, Judgement};
use crate::client::{Answer, Request};
use crate::draft::Attachment;
use crate::encode::{Job, all_written, base64, metadata, object, post, secret, written};

/// Limits of Postmark's metadata: number of entries, length of a name, length of a value.
const METADATA: (usize, usize, usize) = (10, 20, 80);

pub(super) struct Postmark {
    pub key: Secret,
    pub stream: Option<String>,
}

impl Postmark {
    fn post(&self, body: &Value) -> Request {
        post("/email", body, vec![secret(HeaderName::from_static("x-postmark-server-token"), "", &self.key)])
    }
}

impl Api for Postmark {
    fn wants_parts(&self) -> bool {
        true
    }

    fn recipients(&self) -> usize {
        50
    }

    fn request(&self, job: &Job<'_>) -> Request {
        let draft = job.draft;
        let header = |name: &str, value: &str| json!({"Name": name, "Value": value});
        let mut headers: Vec<Value> = draft.headers.iter().map(|(name, value)| header(name, value)).collect();
        headers.push(header("Message-ID", &format!("<{}>", job.mail.message_id)));
        headers.push(header("X-PM-KeepID", "true"));
        let list = |mailboxes: &[_]| match all_written(mailboxes) {
            some if some.is_empty() => Value::Null,
            some => json!(some.join(", ")),
        };
        let text = draft.text.as_deref().or(draft.html.is_none().then_some(""));
        let (most, name_limit, value_limit) = METADATA;
        let kept: serde_json::Map<String, Value> = metadata(job)
            .filter(|(name, value)| name.len() <= name_limit && value.chars().count() <= value_limit)
            .take(most)
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        self.post(&object([
            ("From", draft.from.as_ref().map(|from| json!(written(from))).unwrap_or_default()),
            ("To", list(&job.part.to)),
            ("Cc", list(&job.part.cc)),
            ("Bcc", list(&job.part.bcc)),
            ("ReplyTo", list(&draft.reply_to)),
            ("Subject", json!(draft.subject)),
            ("TextBody", json!(text)),
            ("HtmlBody", json!(draft.html)),
            ("Headers", Value::Array(headers)),
            ("Attachments", draft.attachments.iter().map(attachment).collect()),
            ("Metadata", Value::Object(kept)),
            ("MessageStream", json!(self.stream)),
        ]))
    }

    fn probe(&self) -> Request {
        self.post(&json!({}))
    }

    fn id(&self, answer: &Answer) -> Option<String> {
        answer.json()["MessageID"].as_str().map(str::to_owned)
    }

    /// "Message OK, but will not deliver to these inactive addresses: …": the other recipients get it.
    fn left_out(&self, answer: &Answer, job: &Job<'_>) -> Vec<(String, String)> {
        let body = answer.json();
        let Some((_, list)) = text(&body, "Message").split_once("inactive addresses:") else {
            return Vec::new();
        };
        let list = list.to_ascii_lowercase();
        let named = |address: &&str| {
            list.split([',', ' ', ';']).any(|word| word.trim_end_matches('.') == address.to_ascii_lowercase())
        };
        job.part
            .addresses()
            .filter(named)
            .map(|address| (address.to_owned(), "inactive at Postmark".to_owned()))
            .collect()
    }

    fn judge(&self, answer: &Answer) -> Judgement {
        let body = answer.json();
        let words = text(&body, "Message");
        let judged = |fate, code| Judgement::new(answer, fate, code, words);
        let recipient = ["'To'", "'Cc'", "'Bcc'"].iter().any(|field| words.contains(field));
        match body["ErrorCode"].as_u64() {
            // Missing or wrong token; out of credit; pending; closed; no such stream.
            Some(10 | 405 | 412 | 413 | 1235) => judged(Fate::Refused, Code::Unauthorized),
            Some(100) => judged(Fate::Later, Code::ProviderError),
            Some(300) if recipient => judged(Fate::Rejected, Code::InvalidRecipient),
            Some(400 | 401) => judged(Fate::Suspect, Code::Unauthorized),
            Some(406) => judged(Fate::Rejected, Code::InvalidRecipient),
            Some(429) => judged(Fate::Later, Code::RateLimited),
            _ => Judgement::by_status(answer, words),
        }
    }
}

fn attachment(attachment: &Attachment) -> Value {
    let id = attachment.content_id.as_ref().filter(|_| attachment.inline).map(|id| format!("cid:{id}"));
    object([
        ("Name", json!(attachment.name)),
        ("Content", json!(base64(&attachment.content))),
        ("ContentType", json!(attachment.media_type)),
        ("ContentID", json!(id)),
    ])
}
