//! The `eml` composer (rule E7): composes the payload file of an e-mail into a message that is stored on disk.
//!
//! Fields: `payload_path`, a JSON file `{id, from, reply_to?, to, cc?, bcc?, subject, body_html | body_text,
//! attachments?, custom_headers?}`. Blind recipients are written to the message's Bcc header, which `raw_eml` removes
//! when it sends the mail. An invalid payload is rejected with a reason that names the member. If the file system is
//! unavailable, the row is deferred.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_mail::{Mailbox, MessageParts, message_id};
use postrider_seams::row::Detail;
use postrider_seams::{ClaimedRow, Composer, Content, Envelope, Failure, Mail, Outcome};

use crate::base_folder::{BaseFolder, FileError};

mod payload;
mod reason;
#[cfg(test)]
mod tests;

pub use reason::Reason;

/// Delay before a row is retried whose file system could not be read.
pub(crate) const UNAVAILABLE_DELAY: Duration = Duration::from_secs(30);

/// The settings of one lane's payloads and messages.
#[derive(Debug)]
pub struct Settings {
    /// The first part of every Message-ID.
    pub name: String,
    /// The folder that holds payloads and attachments.
    pub base: BaseFolder,
    /// Sender of payloads that have none.
    pub from: Option<Mailbox>,
    /// Right side of Message-IDs. Default: the sender's domain.
    pub domain: Option<String>,
    /// Size limit in bytes, of a payload, of all its attachments together, and of the composed message.
    pub size_limit: u64,
    pub recipient_limit: usize,
    pub attachment_limit: usize,
}

/// Composes one message per payload file.
#[derive(Debug, Clone)]
pub struct EmlComposer {
    settings: Arc<Settings>,
    now: fn() -> i64,
}

impl EmlComposer {
    /// Creates a composer that uses the system clock.
    pub fn new(settings: Settings) -> Self {
        Self { settings: Arc::new(settings), now: postrider_mail::date::now }
    }
}

#[async_trait]
impl Composer for EmlComposer {
    async fn compose(&self, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
        let mut composed = Vec::with_capacity(rows.len());
        for row in rows {
            let (settings, row, now) = (Arc::clone(&self.settings), row.clone(), (self.now)());
            // Sequentially: each row may need as much memory as the size limit.
            let task = tokio::task::spawn_blocking(move || compose(&settings, &row, now));
            composed.push(match task.await {
                Ok(result) => result.map_err(|reason| to_outcome(&reason)),
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            });
        }
        composed
    }

    fn size_limit(&self) -> u64 {
        self.settings.size_limit
    }
}

fn to_outcome(reason: &Reason) -> Outcome {
    match reason {
        Reason::File(problem) | Reason::Attachment { problem, .. } if !problem.is_final() => {
            Outcome::Deferred(Failure { after: Some(UNAVAILABLE_DELAY), ..Failure::new(reason.to_string()) })
        }
        _ => Outcome::Rejected(Failure::new(crate::shortened(&reason.to_string()))),
    }
}

fn compose(settings: &Settings, row: &ClaimedRow, now: i64) -> Result<Envelope, Reason> {
    let fields = row.fields.as_ref().ok_or(Reason::NoPath)?;
    let path = fields.get("payload_path").as_text().filter(|path| !path.is_empty()).ok_or(Reason::NoPath)?;
    let text = settings.base.read(path, settings.size_limit)?;
    let id = row.lease.id.to_string();
    let mail = payload::read(settings, &id, &text)?;
    let sender = &mail.from.address;
    let message_id = message_id(&settings.name, &id, settings.domain.as_deref().unwrap_or(sender.domain()));
    let parts = MessageParts {
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
    let mut message = bcc_header(&mail.bcc);
    message.extend(parts.write().map_err(|problem| Reason::Message(problem.to_string()))?);
    let size = message.len() as u64;
    if size > settings.size_limit {
        return Err(Reason::TooLarge { size, limit: settings.size_limit });
    }
    let all_recipients = mail.to.iter().chain(&mail.cc).chain(&mail.bcc);
    Ok(Envelope {
        dedupe: id.clone(),
        row: id,
        attempt: row.counters.attempts + 1,
        lease: postrider_seams::LeaseCheck::default(),
        content: Content::Mail(Mail {
            from: sender.as_str().to_owned(),
            to: all_recipients.map(|mailbox| mailbox.address.as_str().to_owned()).collect(),
            message: message.into(),
            rest: None,
            message_id: message_id.clone(),
            utf8: parts.needs_utf8(),
            settled: Vec::new(),
            metadata: Vec::new(),
        }),
        detail: Detail::new(),
    })
}

/// Returns the Bcc header, with one address per line.
fn bcc_header(bcc: &[Mailbox]) -> Vec<u8> {
    if bcc.is_empty() {
        return Vec::new();
    }
    let addresses: Vec<String> =
        bcc.iter().map(|mailbox| format!("<{}>", mailbox.address.as_str())).collect();
    format!("Bcc: {}\r\n", addresses.join(",\r\n ")).into_bytes()
}

impl From<FileError> for Reason {
    fn from(problem: FileError) -> Self {
        Self::File(problem)
    }
}
