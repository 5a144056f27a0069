//! The `eml` composer (rule E7): the payload file of an e-mail becomes a message, for the disk.
//!
//! Fields: `payload_path`, a JSON file `{id, from, reply_to?, to, cc?, bcc?, subject, body_html | body_text,
//! attachments?, custom_headers?}`. Blind recipients are in the message's own Bcc, which `raw_eml` takes out again when
//! the mail is sent. Anything wrong with the payload: rejected, with a reason that names the member. A file system
//! that is away: deferred.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_mail::{Draft, Mailbox, message_id};
use postrider_seams::row::Detail;
use postrider_seams::{Claimed, Composer, Content, Envelope, Failure, Mail, Outcome};

use crate::base::{Base, Problem};

mod payload;
mod reason;
#[cfg(test)]
mod tests;

pub use reason::Reason;

/// How long to leave a file system alone that can't be read.
pub(crate) const AWAY: Duration = Duration::from_secs(30);

/// How payloads become messages.
#[derive(Debug)]
pub struct Settings {
    /// The first part of every Message-ID.
    pub name: String,
    /// Where payloads and attachments are.
    pub base: Base,
    /// For payloads without a sender.
    pub from: Option<Mailbox>,
    /// The right side of Message-IDs; the sender's domain if none.
    pub domain: Option<String>,
    /// Bytes of a payload, of its attachments together, and of the message made of them.
    pub size_limit: u64,
    pub recipient_limit: usize,
    pub attachment_limit: usize,
}

/// Composes messages of payload files.
#[derive(Debug, Clone)]
pub struct EmlComposer {
    settings: Arc<Settings>,
    now: fn() -> i64,
}

impl EmlComposer {
    pub fn new(settings: Settings) -> Self {
        Self { settings: Arc::new(settings), now: postrider_mail::date::now }
    }
}

#[async_trait]
impl Composer for EmlComposer {
    async fn compose(&self, rows: &[Claimed]) -> Vec<Result<Envelope, Outcome>> {
        let mut composed = Vec::with_capacity(rows.len());
        for row in rows {
            let (settings, row, now) = (Arc::clone(&self.settings), row.clone(), (self.now)());
            // One after another: each may hold as much as the size limit.
            let task = tokio::task::spawn_blocking(move || compose(&settings, &row, now));
            composed.push(match task.await {
                Ok(made) => made.map_err(|reason| refused(&reason)),
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            });
        }
        composed
    }

    fn size_limit(&self) -> u64 {
        self.settings.size_limit
    }
}

fn refused(reason: &Reason) -> Outcome {
    match reason {
        Reason::File(problem) | Reason::Attachment { problem, .. } if !problem.is_final() => {
            Outcome::Deferred(Failure { after: Some(AWAY), ..Failure::new(reason.to_string()) })
        }
        _ => Outcome::Rejected(Failure::new(crate::shortened(&reason.to_string()))),
    }
}

fn compose(settings: &Settings, row: &Claimed, now: i64) -> Result<Envelope, Reason> {
    let fields = row.fields.as_ref().ok_or(Reason::NoPath)?;
    let path = fields.get("payload_path").as_text().filter(|path| !path.is_empty()).ok_or(Reason::NoPath)?;
    let text = settings.base.read(path, settings.size_limit)?;
    let id = row.lease.id.to_string();
    let mail = payload::read(settings, &id, &text)?;
    let sender = &mail.from.address;
    let message_id = message_id(&settings.name, &id, settings.domain.as_deref().unwrap_or(sender.domain()));
    let draft = Draft {
        from: &mail.from,
        to: &mail.to,
        cc: &mail.cc,
        reply_to: &mail.reply_to,
        subject: mail.subject.as_deref(),
        text: mail.text.as_deref(),
        html: mail.html.as_deref(),
        headers: &mail.headers,
        attachments: &mail.attachments,
        message_id: &message_id,
        date: now,
    };
    let mut message = blind(&mail.bcc);
    message.extend(draft.write().map_err(|problem| Reason::Message(problem.to_string()))?);
    let size = message.len() as u64;
    if size > settings.size_limit {
        return Err(Reason::TooLarge { size, limit: settings.size_limit });
    }
    let everyone = mail.to.iter().chain(&mail.cc).chain(&mail.bcc);
    Ok(Envelope {
        dedupe: id.clone(),
        row: id,
        attempt: row.counters.attempts + 1,
        lease: postrider_seams::LeaseCheck::default(),
        content: Content::Mail(Mail {
            from: sender.as_str().to_owned(),
            to: everyone.map(|mailbox| mailbox.address.as_str().to_owned()).collect(),
            message: message.into(),
            rest: None,
            message_id: message_id.clone(),
            utf8: draft.needs_utf8(),
            served: Vec::new(),
            metadata: Vec::new(),
        }),
        detail: Detail::new(),
    })
}

/// The Bcc header, one address a line.
fn blind(bcc: &[Mailbox]) -> Vec<u8> {
    if bcc.is_empty() {
        return Vec::new();
    }
    let addresses: Vec<String> =
        bcc.iter().map(|mailbox| format!("<{}>", mailbox.address.as_str())).collect();
    format!("Bcc: {}\r\n", addresses.join(",\r\n ")).into_bytes()
}

impl From<Problem> for Reason {
    fn from(problem: Problem) -> Self {
        Self::File(problem)
    }
}
