//! The `raw_eml` composer (rule E8): sends an .eml file unchanged, except for its Bcc fields.
//!
//! Fields: `eml_path`. The envelope's sender is the lane's `bounces`, else the file's Sender or From; the recipients
//! are its To, Cc and Bcc. Line endings become CR LF, which SMTP requires. A file without a Message-ID gets one made of
//! the row's id, the same for every attempt. A file that is missing or is no message is rejected; if the file system is
//! unavailable, the row is deferred.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::RESULTS;
use postrider_mail::{Address, message_id};
use postrider_seams::row::Detail;
use postrider_seams::{Claimed, Composer, Content, Envelope, Failure, Mail, Outcome, Rest};

use crate::base::{Base, Problem};
use crate::eml::AWAY;
use crate::recipients;

mod headers;
#[cfg(test)]
mod tests;

/// Largest file, in bytes, that is read into memory; larger files are read while they are sent.
const WHOLE: u64 = 256 * 1024;

/// Bytes read at once when only the header is needed; most headers fit.
const HEADER: u64 = 16 * 1024;

/// Time limit for reading the recipients of all files of a claim.
const LOOK_AHEAD: Duration = Duration::from_secs(2);

/// The settings of one lane's .eml files.
#[derive(Debug)]
pub struct Settings {
    pub base: Base,
    /// Envelope sender, to which bounces go. Default: the file's sender.
    pub bounces: Option<Address>,
    pub size_limit: u64,
    pub recipient_limit: usize,
}

#[derive(Debug, thiserror::Error)]
enum Reason {
    #[error("eml: the row names no .eml file")]
    NoPath,
    #[error("eml: {0}")]
    File(Problem),
    #[error("eml: the file has no header that could be read: it is no message")]
    NoMessage,
    #[error("eml: {0}")]
    Address(String),
    #[error("eml: the message has no sender")]
    NoSender,
    #[error("eml: the message has no recipient")]
    NoRecipients,
    #[error("eml: every recipient has accepted this message already")]
    AllServed,
    #[error("eml: what is remembered of its recipients can't be read: {0}")]
    Remembered(serde_json::Error),
    #[error(
        "eml: the header field {0} names blind recipients who would get nothing: name them in a Bcc field"
    )]
    UnreadBlind(String),
    #[error("eml: {found} recipients, more than the limit of {limit}")]
    ManyRecipients { found: usize, limit: usize },
}

/// Composes one mail per .eml file.
#[derive(Debug, Clone)]
pub struct RawEmlComposer {
    settings: Arc<Settings>,
}

impl RawEmlComposer {
    /// Creates a composer that reads files below `settings.base`.
    pub fn new(settings: Settings) -> Self {
        Self { settings: Arc::new(settings) }
    }
}

#[async_trait]
impl Composer for RawEmlComposer {
    async fn compose(&self, rows: &[Claimed]) -> Vec<Result<Envelope, Outcome>> {
        let mut composed = Vec::with_capacity(rows.len());
        for row in rows {
            let (settings, row) = (Arc::clone(&self.settings), row.clone());
            let task = tokio::task::spawn_blocking(move || compose(&settings, &row));
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

    async fn recipients(&self, rows: &[&Claimed]) -> Vec<Vec<String>> {
        let paths: Vec<Option<String>> = rows
            .iter()
            .map(|row| row.fields.as_ref()?.get("eml_path").as_text().map(str::to_owned))
            .collect();
        let settings = Arc::clone(&self.settings);
        let read = tokio::task::spawn_blocking(move || {
            let one = |path: Option<String>| path.and_then(|path| addressed(&settings, &path));
            paths.into_iter().map(|path| one(path).unwrap_or_default()).collect()
        });
        // A hanging file system must not block the claim: the recipients of these rows are read when they are sent.
        match tokio::time::timeout(LOOK_AHEAD, read).await {
            Ok(Ok(recipients)) => recipients,
            _ => vec![Vec::new(); rows.len()],
        }
    }
}

/// Returns the recipients of a file; `None` if they cannot be read, for which `compose` returns the reason.
fn addressed(settings: &Settings, path: &str) -> Option<Vec<String>> {
    let (file, _) = settings.base.open(path).ok()?;
    let mut head = Vec::new();
    let mut file = file.take(WHOLE);
    while headers::end(&head).is_none() {
        if file.by_ref().take(HEADER).read_to_end(&mut head).ok()? == 0 {
            break;
        }
    }
    let message = headers::Message::split(headers::begin(&head));
    headers::read(&message.header).ok().map(|found| found.to)
}

fn refused(reason: &Reason) -> Outcome {
    match reason {
        Reason::File(problem) if !problem.is_final() => {
            Outcome::Deferred(Failure { after: Some(AWAY), ..Failure::new(reason.to_string()) })
        }
        _ => Outcome::Rejected(Failure::new(crate::shortened(&reason.to_string()))),
    }
}

/// A file in two parts: the part that the composer reads, and the part that the transport streams.
struct Text {
    head: Vec<u8>,
    rest: Option<Rest>,
}

/// Reads a small file as a whole, and only the header of a large one.
fn text(settings: &Settings, path: &str) -> Result<Text, Reason> {
    let (mut file, size) = settings.base.open(path).map_err(Reason::File)?;
    let limit = settings.size_limit;
    if size > limit {
        return Err(Reason::File(Problem::TooLarge { name: path.to_owned(), size, limit }));
    }
    let away = |source| Reason::File(Problem::Away { name: path.to_owned(), source });
    let mut head = Vec::new();
    std::io::Read::by_ref(&mut file).take(WHOLE + 1).read_to_end(&mut head).map_err(away)?;
    if head.len() as u64 <= WHOLE {
        return Ok(Text { head, rest: None });
    }
    // No relay accepts a header of that size.
    let end = headers::end(&head).ok_or(Reason::NoMessage)?;
    head.truncate(end);
    let rest = Rest::open(file, end as u64).map_err(away)?;
    Ok(Text { head, rest: Some(rest) })
}

fn compose(settings: &Settings, row: &Claimed) -> Result<Envelope, Reason> {
    let fields = row.fields.as_ref().ok_or(Reason::NoPath)?;
    let path = fields.get("eml_path").as_text().filter(|path| !path.is_empty()).ok_or(Reason::NoPath)?;
    let text = text(settings, path)?;
    let mut message = headers::Message::split(headers::begin(&text.head));
    if let Some(name) = message.unread_blind {
        return Err(Reason::UnreadBlind(name));
    }
    let found = headers::read(&message.header)?;
    let limit = settings.recipient_limit;
    if found.to.len() > limit {
        return Err(Reason::ManyRecipients { found: found.to.len(), limit });
    }
    let id = row.lease.id.to_string();
    let message_id = found.message_id.unwrap_or_else(|| {
        message_id("emails", &id, found.from.rsplit_once('@').map_or("localhost", |(_, domain)| domain))
    });
    if !found.has_message_id {
        message.add("Message-ID", &format!("<{message_id}>"));
    }
    let from = settings.bounces.as_ref().map_or(found.from, |bounces| bounces.as_str().to_owned());
    let earlier = fields.get(RESULTS).as_text().filter(|text| !text.is_empty());
    let earlier = recipients::earlier(earlier, &found.to).map_err(Reason::Remembered)?;
    let chosen = recipients::choose(found.to, earlier);
    if chosen.now.is_empty() {
        return Err(Reason::AllServed);
    }
    let utf8 = std::iter::once(&from).chain(&chosen.now).any(|address| recipients::needs_utf8(address));
    Ok(Envelope {
        dedupe: id.clone(),
        attempt: row.counters.attempts + 1,
        lease: postrider_seams::LeaseCheck::default(),
        content: Content::Mail(Mail {
            from,
            to: chosen.now,
            message: message.without_bcc().into(),
            rest: text.rest,
            message_id,
            utf8,
            served: chosen.served,
            metadata: Vec::new(),
        }),
        row: id,
        detail: Detail::new(),
    })
}
