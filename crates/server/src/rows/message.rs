//! The message of a row, as its composer makes it, without signatures and credentials.

use mail_parser::MessageParser;
use postrider_seams::{Content, Envelope, Mail, Record, Webhook};
use serde::Serialize;
use utoipa::ToSchema;

use super::columns::{MASK, NameValue, is_secret};
use super::cut;

/// Maximum characters of a payload or a text.
const MAX_TEXT_CHARS: usize = 128 * 1024;
/// Maximum bytes of a mail that are parsed.
const MAX_PARSED_BYTES: usize = 8 << 20;

/// The message that would be sent if the row were delivered now.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageView {
    /// `mail`, `http` or `record`; `none` if no message can be made from the row.
    pub kind: &'static str,
    /// Why no message can be made from the row. Null: one can.
    pub problem: Option<String>,
    /// Subject of a mail.
    pub subject: Option<String>,
    /// The envelope: sender and recipients, method and URL, topic and key.
    pub facts: Vec<NameValue>,
    /// Headers of the message.
    pub headers: Vec<NameValue>,
    /// Plain text of a mail.
    pub text: Option<String>,
    /// Whether `mail.html` has an HTML body to show.
    pub html: bool,
    /// Body of a request or a record.
    pub payload: Option<String>,
    /// Whether the body is longer than what is shown.
    pub cut: bool,
}

impl MessageView {
    fn of(kind: &'static str) -> Self {
        Self {
            kind,
            problem: None,
            subject: None,
            facts: Vec::new(),
            headers: Vec::new(),
            text: None,
            html: false,
            payload: None,
            cut: false,
        }
    }
}

fn fact(name: &str, value: impl Into<String>) -> NameValue {
    NameValue { name: name.to_owned(), value: Some(value.into()) }
}

fn headers(pairs: &[(String, String)]) -> Vec<NameValue> {
    let shown = |(name, value): &(String, String)| {
        fact(name, if is_secret(name) { MASK.to_owned() } else { cut(value, MAX_TEXT_CHARS).0 })
    };
    pairs.iter().map(shown).collect()
}

/// Converts the result of the composer for display.
pub fn message(composed: Result<Envelope, String>) -> MessageView {
    match composed {
        Err(problem) => MessageView { problem: Some(problem), ..MessageView::of("none") },
        Ok(envelope) => match &envelope.content {
            Content::Mail(mail) => of_mail(mail),
            Content::Record(record) => of_record(record),
            Content::Webhook(webhook) => of_webhook(webhook, &envelope.dedupe),
            Content::Nothing => MessageView::of("none"),
        },
    }
}

fn of_mail(mail: &Mail) -> MessageView {
    let bytes = &mail.message[..mail.message.len().min(MAX_PARSED_BYTES)];
    let parsed = MessageParser::default().parse(bytes);
    let subject = parsed.as_ref().and_then(|message| message.subject()).map(str::to_owned);
    let lines = parsed
        .as_ref()
        .map(|message| message.headers_raw().map(|(name, value)| fact(name, value.trim())).collect());
    let text =
        parsed.as_ref().and_then(|message| message.body_text(0)).map(|text| cut(&text, MAX_TEXT_CHARS));
    let html = parsed.as_ref().is_some_and(|message| message.html_body_count() > 0);
    let (text, was_cut) = text.map_or((None, false), |(text, cut)| (Some(text), cut));
    MessageView {
        subject,
        facts: vec![
            fact("envelope from", if mail.from.is_empty() { "<>" } else { &mail.from }),
            fact("envelope to", mail.to.join(", ")),
            fact("message id", mail.message_id.clone()),
            fact("bytes", mail.size().to_string()),
        ],
        headers: lines.unwrap_or_default(),
        text,
        html,
        cut: was_cut,
        ..MessageView::of("mail")
    }
}

fn of_record(record: &Record) -> MessageView {
    let (payload, cut) = cut(&String::from_utf8_lossy(&record.payload), MAX_TEXT_CHARS);
    let mut facts = vec![fact("topic", record.topic.clone())];
    facts.extend(record.key.iter().map(|key| fact("key", key.clone())));
    facts.push(fact("bytes", record.payload.len().to_string()));
    MessageView {
        facts,
        headers: headers(&record.headers),
        payload: Some(payload),
        cut,
        ..MessageView::of("record")
    }
}

fn of_webhook(webhook: &Webhook, id: &str) -> MessageView {
    let (payload, cut) = cut(&String::from_utf8_lossy(&webhook.body), MAX_TEXT_CHARS);
    let facts = vec![
        fact("method", "POST"),
        fact("url", webhook.url.clone()),
        fact("content type", webhook.content_type.clone()),
        fact("webhook id", id),
        fact("authorization", if webhook.authorization.is_some() { MASK } else { "none" }),
        fact("signatures", webhook.signing.len().to_string()),
    ];
    MessageView {
        facts,
        headers: headers(&webhook.headers),
        payload: Some(payload),
        cut,
        ..MessageView::of("http")
    }
}

/// Returns the mail as HTML: its HTML body, or its text as a page.
pub fn html_of(mail: &Mail) -> String {
    let bytes = &mail.message[..mail.message.len().min(MAX_PARSED_BYTES)];
    let Some(message) = MessageParser::default().parse(bytes) else { return String::new() };
    message.body_html(0).map(std::borrow::Cow::into_owned).unwrap_or_default()
}
