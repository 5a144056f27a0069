//! Resend, `/emails`, with its `Idempotency-Key`: a second request with the same key within a day sends nothing.

use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use postrider_broker::Secret;
use serde_json::{Value, json};

use super::{Api, text};
use crate::classify::{Code, Fate, Judgement};
use crate::client::{Answer, Request};
use crate::draft::Attachment;
use crate::encode::{Job, all_written, base64, metadata, object, plain, post, secret, written};

const TAG_LIMIT: usize = 256;

pub(super) struct Resend {
    pub key: Secret,
}

impl Resend {
    fn post(&self, body: &Value, key: Option<&str>) -> Request {
        let mut headers = vec![secret(AUTHORIZATION, "Bearer ", &self.key)];
        if let Some(key) = key {
            let value = HeaderValue::try_from(key).expect("the key was made to fit a header");
            headers.push((HeaderName::from_static("idempotency-key"), value));
        }
        post("/emails", body, headers)
    }
}

impl Api for Resend {
    fn wants_parts(&self) -> bool {
        true
    }

    fn recipients(&self) -> usize {
        50
    }

    fn drops_repeats(&self) -> bool {
        true
    }

    fn request(&self, job: &Job<'_>) -> Request {
        let draft = job.draft;
        let mut headers: serde_json::Map<String, Value> =
            draft.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        headers.insert("Message-ID".to_owned(), json!(format!("<{}>", job.mail.message_id)));
        let text = draft.text.as_deref().or(draft.html.is_none().then_some(""));
        let tag = |(name, value): (&str, &str)| json!({"name": plain(name, TAG_LIMIT), "value": plain(value, TAG_LIMIT)});
        let body = object([
            ("from", draft.from.as_ref().map(|from| json!(written(from))).unwrap_or_default()),
            ("to", json!(all_written(&job.part.to))),
            ("cc", json!(all_written(&job.part.cc))),
            ("bcc", json!(all_written(&job.part.bcc))),
            ("reply_to", json!(all_written(&draft.reply_to))),
            ("subject", json!(draft.subject)),
            ("text", json!(text)),
            ("html", json!(draft.html)),
            ("headers", Value::Object(headers)),
            ("attachments", draft.attachments.iter().map(attachment).collect()),
            ("tags", metadata(job).map(tag).collect()),
        ]);
        self.post(&body, Some(&job.key))
    }

    fn probe(&self) -> Request {
        self.post(&json!({}), None)
    }

    fn id(&self, answer: &Answer) -> Option<String> {
        answer.json()["id"].as_str().map(str::to_owned)
    }

    fn judge(&self, answer: &Answer) -> Judgement {
        let body = answer.json();
        let (name, message) = (text(&body, "name"), text(&body, "message"));
        let words = format!("{name}: {message}");
        let judged = |fate, code| Judgement::new(answer, fate, code, &words);
        match name {
            "daily_quota_exceeded" | "monthly_quota_exceeded" | "rate_limit_exceeded" => {
                judged(Fate::Later, Code::RateLimited)
            }
            "missing_api_key" | "invalid_api_key" | "restricted_api_key" => {
                judged(Fate::Refused, Code::Unauthorized)
            }
            // Another request with our key is running; its answer will be ours.
            "concurrent_idempotent_requests" => judged(Fate::Later, Code::ProviderError),
            // 403: the sender's domain is not verified.
            "validation_error" if answer.status == 403 => judged(Fate::Suspect, Code::Unauthorized),
            _ if answer.status < 500
                && ["`to`", "`cc`", "`bcc`"].iter().any(|field| message.contains(field)) =>
            {
                judged(Fate::Rejected, Code::InvalidRecipient)
            }
            "security_error" => judged(Fate::Rejected, Code::ValidationError),
            _ => Judgement::by_status(answer, &words),
        }
    }
}

fn attachment(attachment: &Attachment) -> Value {
    object([
        ("filename", json!(attachment.name)),
        ("content", json!(base64(&attachment.content))),
        ("content_type", json!(attachment.media_type)),
        ("content_id", json!(attachment.content_id)),
    ])
}
