//! Composes the message of a valid job: template, headers, and the metadata for providers (rules N8–N10).

use postrider_mail::header::CustomHeader;
use postrider_mail::{Address, Mailbox, MessageParts, message_id, templates};
use postrider_seams::row::Detail;
use postrider_seams::{ClaimedRow, Value as Column};
use serde_json::Value;

use super::Settings;
use super::not_composed::{NotComposed, TEMPLATE_MISSING_LOCALE, TEMPLATE_VARIABLE_MISSING};
use super::row::NotificationRow;
use crate::email::compose::{ComposedMail, message_date};

/// A checked job and the data to compose its message from.
pub struct MessageInput<'a> {
    pub claimed: &'a ClaimedRow,
    pub row: &'a NotificationRow<'a>,
    /// Checked by the schema.
    pub job: &'a Value,
    pub recipient: Address,
    /// Unix seconds.
    pub now: i64,
}

/// Composes the message of a job; fails if its template cannot be rendered or the message is too large.
pub fn compose(settings: &Settings, input: MessageInput<'_>) -> Result<ComposedMail, NotComposed> {
    let MessageInput { claimed, row, job, recipient, now } = input;
    let text_at = |path: &str| job.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (id, version) = (text_at("/template/id"), text_at("/template/version"));
    let variables = &job["template"]["variables"];
    let rendered = settings
        .templates
        .current()
        .render(&format!("{id}@{version}"), Some(text_at("/locale")), variables)
        .map_err(|error| template_failure(&error))?;
    // Headers cannot contain line breaks: one in a title becomes a space.
    let subject = rendered.subject.map(|subject| subject.split_whitespace().collect::<Vec<_>>().join(" "));
    let mail = &settings.mail;
    let from =
        mail.from.as_ref().ok_or_else(|| NotComposed::invalid("the lane has no sender: set mail.from"))?;
    let invalid = |error: &dyn std::fmt::Display| NotComposed::invalid(error.to_string());
    let to = Mailbox::new(text_at("/recipient/name"), recipient).map_err(|error| invalid(&error))?;
    let mut headers = unsubscribe(text_at("/links/unsubscribeUrl")).map_err(|error| invalid(&error))?;
    headers.extend(metadata_headers(row, job));
    // All subscribers of an event share its key; only together with the subscription does it identify one mail.
    let dedupe = format!("{}:{}", row.dedupe, row.subscription);
    let domain = from.address.domain();
    let message_id = message_id(&mail.name, &dedupe, mail.domain.as_deref().unwrap_or(domain));
    let date = message_date(row.seconds("created"), now);
    let parts = MessageParts {
        from,
        to: std::slice::from_ref(&to),
        cc: &[],
        reply_to: &[],
        subject: subject.as_deref(),
        text: Some(&rendered.text),
        html: rendered.html.as_deref(),
        headers: &headers,
        attachments: &[],
        message_id: &message_id,
        date,
    };
    let message = parts.write().map_err(|error| invalid(&error))?;
    if message.len() as u64 > mail.size_limit {
        return Err(NotComposed::invalid(format!(
            "the mail has {} bytes, more than the limit",
            message.len()
        )));
    }
    let sender = mail.bounces.as_ref().unwrap_or(&from.address);
    Ok(ComposedMail {
        utf8: parts.needs_utf8() || sender.needs_utf8(),
        from: sender.as_str().to_owned(),
        domain: domain.to_owned(),
        message,
        date,
        row: claimed.lease.id.to_string(),
        dedupe,
        attempt: claimed.counters.attempts + 1,
        message_id,
        to: vec![to.address.as_str().to_owned()],
        settled: Vec::new(),
        metadata: metadata(row, job),
        detail: detail(row, job),
    })
}

fn template_failure(error: &templates::Error) -> NotComposed {
    use templates::Error;
    let code = match error {
        Error::Missing(_) | Error::VersionMissing { .. } | Error::LocaleMissing { .. } => {
            TEMPLATE_MISSING_LOCALE
        }
        Error::VariableMissing { .. } => TEMPLATE_VARIABLE_MISSING,
        Error::Name(_) | Error::TooLarge(_) | Error::Invalid { .. } => super::not_composed::VALIDATION_ERROR,
    };
    NotComposed::fail(code, error.to_string())
}

/// Returns the unsubscribe headers: RFC 2369, and the one-click header of RFC 8058, which requires https.
fn unsubscribe(url: &str) -> Result<Vec<CustomHeader>, postrider_mail::header::Error> {
    if url.is_empty() {
        return Ok(Vec::new());
    }
    let mut headers = vec![CustomHeader::new("List-Unsubscribe", &format!("<{url}>"))?];
    if url.starts_with("https://") {
        headers.push(CustomHeader::new("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")?);
    }
    Ok(headers)
}

/// Returns trace and metadata as headers, for relays without metadata of their own. Values that are invalid in a header
/// are left out.
fn metadata_headers(row: &NotificationRow<'_>, job: &Value) -> Vec<CustomHeader> {
    let text_at = |path: &str| job.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let pairs = [
        ("X-Trace-Id", text_at("/traceId")),
        ("X-Metadata-Subscription-Id", row.subscription.to_string()),
        ("X-Metadata-Open-Event-Id", row.open_event.to_string()),
        ("X-Metadata-Term", text_at("/event/termId")),
        ("X-Metadata-Campus", text_at("/event/campusCode")),
        // Provider tags allow few characters; the header has the row's key unchanged (rule N8).
        ("X-Metadata-Dedupe-Key", row.dedupe.clone().into_owned()),
    ];
    let filled = pairs.iter().filter(|(_, value)| !value.is_empty());
    filled.filter_map(|(name, value)| CustomHeader::new(name, value).ok()).collect()
}

/// Returns the metadata that providers store with a mail: `{ subscriptionId, openEventId, term, campus }`, and the
/// template, trace id and key to search by.
fn metadata(row: &NotificationRow<'_>, job: &Value) -> Vec<(String, String)> {
    let text_at = |path: &str| job.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let pairs = [
        ("subscriptionId", row.subscription.to_string()),
        ("openEventId", row.open_event.to_string()),
        ("term", text_at("/event/termId")),
        ("campus", text_at("/event/campusCode")),
        ("templateId", text_at("/template/id")),
        ("templateVersion", text_at("/template/version")),
        ("traceId", text_at("/traceId")),
        // The row's key unchanged; the idempotency key and the Message-ID also contain the subscription.
        ("dedupeKey", row.dedupe.clone().into_owned()),
    ];
    let filled = pairs.into_iter().filter(|(_, value)| !value.is_empty());
    filled.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns the other inputs of the mail, for contracts and for transports that render templates themselves.
fn detail(row: &NotificationRow<'_>, job: &Value) -> Detail {
    let text_at = |path: &str| {
        let text_at = job.pointer(path).and_then(Value::as_str);
        text_at.map_or(Column::Null, |text_at| Column::Text(text_at.to_owned()))
    };
    let text = |text: String| Column::Text(text);
    Detail::from([
        ("section_status".to_owned(), text_at("/event/statusAfter")),
        ("dedupe_key".to_owned(), text(row.dedupe.clone().into_owned())),
        ("trace_id".to_owned(), text_at("/traceId")),
        ("locale".to_owned(), text_at("/locale")),
        ("template_id".to_owned(), text_at("/template/id")),
        ("template_version".to_owned(), text_at("/template/version")),
        ("variables".to_owned(), text(job["template"]["variables"].to_string())),
        ("manage_url".to_owned(), text_at("/links/manageUrl")),
        ("unsubscribe_url".to_owned(), text_at("/links/unsubscribeUrl")),
    ])
}
