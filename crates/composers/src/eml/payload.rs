//! Reads and checks payload files.

use std::path::Path;

use postrider_mail::address::parse_list;
use postrider_mail::{Attachment, Mailbox, header};
use serde::Deserialize;
use serde_json::Value;

use super::{Reason, Settings};

mod parse;

use parse::{AttachmentEntry, Object};

/// A checked payload, ready to be composed.
#[derive(Debug)]
pub struct EmailPayload {
    pub from: Mailbox,
    pub to: Vec<Mailbox>,
    pub cc: Vec<Mailbox>,
    pub bcc: Vec<Mailbox>,
    pub reply_to: Vec<Mailbox>,
    pub subject: Option<String>,
    pub text: Option<String>,
    pub html: Option<String>,
    pub headers: Vec<header::CustomHeader>,
    pub attachments: Vec<Attachment>,
}

/// The payload as it is written. Unknown members are ignored.
#[derive(Deserialize)]
struct RawPayload {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    from: Value,
    #[serde(default)]
    reply_to: Value,
    #[serde(default)]
    to: Value,
    #[serde(default)]
    cc: Value,
    #[serde(default)]
    bcc: Value,
    subject: Option<String>,
    body_html: Option<String>,
    body_text: Option<String>,
    attachments: Option<Vec<AttachmentEntry>>,
    custom_headers: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct AttachmentObject {
    #[serde(alias = "file_path", alias = "file")]
    path: Option<String>,
    #[serde(alias = "name")]
    filename: Option<String>,
    #[serde(alias = "type", alias = "mime_type")]
    content_type: Option<String>,
    content: Option<String>,
    #[serde(default)]
    inline: bool,
    #[serde(alias = "content_id")]
    cid: Option<String>,
}

/// Parses and checks a payload and reads its attachments; fails if its `id` differs from the row's.
pub fn read(settings: &Settings, id: &str, text: &[u8]) -> Result<EmailPayload, Reason> {
    // Some editors write a byte-order mark at the start.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let Object(raw): Object<RawPayload> = parse::parse(text)?;
    match &raw.id {
        Value::Null => {}
        Value::String(payload_id) if payload_id == id => {}
        other => return Err(Reason::OtherId(other.to_string())),
    }
    let from = match addresses("from", &raw.from)? {
        list if list.is_empty() => settings.from.clone().ok_or(Reason::SenderCount)?,
        mut list if list.len() == 1 => list.swap_remove(0),
        _ => return Err(Reason::SenderCount),
    };
    let (to, cc, bcc) = (addresses("to", &raw.to)?, addresses("cc", &raw.cc)?, addresses("bcc", &raw.bcc)?);
    let found = to.len() + cc.len() + bcc.len();
    if found == 0 {
        return Err(Reason::NoRecipients);
    }
    if found > settings.recipient_limit {
        return Err(Reason::ManyRecipients { found, limit: settings.recipient_limit });
    }
    let attachments = attachments(settings, raw.attachments.unwrap_or_default())?;
    let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
    let (html, text) = (non_empty(raw.body_html), non_empty(raw.body_text));
    if html.is_none() && text.is_none() && attachments.is_empty() {
        return Err(Reason::NoBody);
    }
    let headers = match raw.custom_headers {
        None | Some(Value::Null) => Vec::new(),
        Some(value) => header::parse(&value.to_string())?,
    };
    let reply_to = addresses("reply_to", &raw.reply_to)?;
    Ok(EmailPayload { from, to, cc, bcc, reply_to, subject: raw.subject, text, html, headers, attachments })
}

/// Parses addresses: a JSON list, or one string.
fn addresses(member: &'static str, value: &Value) -> Result<Vec<Mailbox>, Reason> {
    let text = match value {
        Value::Null => return Ok(Vec::new()),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    parse_list(&text).map_err(|source| Reason::Address { member, source })
}

fn attachments(settings: &Settings, raw: Vec<AttachmentEntry>) -> Result<Vec<Attachment>, Reason> {
    let limit = settings.attachment_limit;
    if raw.len() > limit {
        return Err(Reason::ManyAttachments { found: raw.len(), limit });
    }
    let mut remaining = settings.size_limit;
    let mut attachments_read = Vec::with_capacity(raw.len());
    for (index, raw) in raw.into_iter().enumerate() {
        attachments_read.push(attachment(settings, index + 1, raw, &mut remaining)?);
    }
    Ok(attachments_read)
}

fn attachment(
    settings: &Settings,
    n: usize,
    raw: AttachmentEntry,
    remaining: &mut u64,
) -> Result<Attachment, Reason> {
    let raw = match raw {
        AttachmentEntry::Path(path) => AttachmentObject {
            path: Some(path),
            filename: None,
            content_type: None,
            content: None,
            inline: false,
            cid: None,
        },
        AttachmentEntry::Object(raw) => *raw,
    };
    let AttachmentObject { path, filename, content_type, content, inline, cid } = raw;
    let last = path.as_deref().and_then(|path| Path::new(path).file_name()?.to_str().map(str::to_owned));
    let filename = filename.or(last).unwrap_or_default();
    let content_type = content_type.or_else(|| type_by_name(&filename).map(str::to_owned));
    let content = match (path, content) {
        (Some(_), Some(_)) => return Err(Reason::PathAndContent { n }),
        (Some(path), None) => {
            let read = settings.base.read(&path, settings.size_limit);
            read.map_err(|problem| Reason::Attachment { n, problem })?
        }
        (None, Some(text)) => Attachment::decode(n, &text)?,
        (None, None) => return Err(Reason::NoContent { n }),
    };
    *remaining = remaining
        .checked_sub(content.len() as u64)
        .ok_or(Reason::AttachmentsTooLarge { limit: settings.size_limit })?;
    Ok(Attachment::new(n, &filename, content_type.as_deref(), content, inline, cid.as_deref())?)
}

/// Returns the media type of a file name, for types that mail programs display; `None` for all others.
fn type_by_name(name: &str) -> Option<&'static str> {
    let (_, end) = name.rsplit_once('.')?;
    Some(match end.to_ascii_lowercase().as_str() {
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "txt" | "log" => "text/plain; charset=utf-8",
        "html" | "htm" => "text/html; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        "ics" => "text/calendar; charset=utf-8",
        "json" => "application/json",
        "xml" => "application/xml",
        "zip" => "application/zip",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        _ => return None,
    })
}
