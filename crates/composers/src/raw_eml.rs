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
use postrider_contract::{FINGERPRINT, RESULTS};
use postrider_mail::{Address, message_id};
use postrider_seams::message_tail::MessageTail;
use postrider_seams::row::Detail;
use postrider_seams::{ClaimedRow, Composer, Content, Envelope, Failure, Mail, Outcome, Value};

use crate::base_folder::{BaseFolder, FileError};
use crate::eml::UNAVAILABLE_DELAY;
use crate::fingerprint::Fingerprint;
use crate::recipients;

pub use self::file_rest::FileRest;

mod file_rest;
mod headers;
mod line_ends;
#[cfg(test)]
mod tests;

/// Largest file, in bytes, that is read into memory; larger files are read while they are sent.
const MAX_IN_MEMORY: u64 = 256 * 1024;

/// Bytes read at once when only the header is needed; most headers fit.
const HEADER_READ: u64 = 16 * 1024;

/// Time limit for reading the recipients of all files of a claim.
const RECIPIENTS_TIMEOUT: Duration = Duration::from_secs(2);

/// The settings of one lane's .eml files.
#[derive(Debug)]
pub struct Settings {
    pub base: BaseFolder,
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
    File(FileError),
    #[error("eml: the file has no readable header, so it is not a message")]
    NoHeader,
    #[error("eml: {0}")]
    Address(String),
    #[error("eml: the message has no sender")]
    NoSender,
    #[error("eml: the message has no recipient")]
    NoRecipients,
    #[error("eml: every recipient has accepted this message already")]
    AllSettled,
    #[error("eml: the recorded results of its recipients are invalid: {0}")]
    EarlierResults(serde_json::Error),
    #[error("eml: the header field {0} names blind recipients that are not supported there: use a Bcc field")]
    UnsupportedBcc(String),
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
    async fn compose(&self, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
        let mut composed = Vec::with_capacity(rows.len());
        for row in rows {
            let (settings, row) = (Arc::clone(&self.settings), row.clone());
            let task = tokio::task::spawn_blocking(move || compose(&settings, &row));
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

    async fn recipients(&self, rows: &[&ClaimedRow]) -> Vec<Vec<String>> {
        let paths: Vec<Option<String>> = rows
            .iter()
            .map(|row| row.fields.as_ref()?.get("eml_path").as_text().map(str::to_owned))
            .collect();
        let settings = Arc::clone(&self.settings);
        let read = tokio::task::spawn_blocking(move || {
            let one = |path: Option<String>| path.and_then(|path| read_recipients(&settings, &path));
            paths.into_iter().map(|path| one(path).unwrap_or_default()).collect()
        });
        // A hanging file system must not block the claim: the recipients of these rows are read when they are sent.
        match tokio::time::timeout(RECIPIENTS_TIMEOUT, read).await {
            Ok(Ok(recipients)) => recipients,
            _ => vec![Vec::new(); rows.len()],
        }
    }
}

/// Returns the recipients of a file; `None` if they cannot be read, for which `compose` returns the reason.
fn read_recipients(settings: &Settings, path: &str) -> Option<Vec<String>> {
    let (file, _) = settings.base.open(path).ok()?;
    let mut head = Vec::new();
    let mut file = file.take(MAX_IN_MEMORY);
    while headers::header_end(&head).is_none() {
        if file.by_ref().take(HEADER_READ).read_to_end(&mut head).ok()? == 0 {
            break;
        }
    }
    let message = headers::SplitMessage::split(headers::skip_preamble(&head));
    headers::read(&message.header).ok().map(|found| found.to)
}

fn to_outcome(reason: &Reason) -> Outcome {
    match reason {
        Reason::File(problem) if !problem.is_final() => {
            Outcome::Deferred(Failure { after: Some(UNAVAILABLE_DELAY), ..Failure::new(reason.to_string()) })
        }
        _ => Outcome::Rejected(Failure::new(crate::shortened(&reason.to_string()))),
    }
}

/// A file in two parts: the part that the composer reads, and the part that the transport streams.
struct EmlFile {
    head: Vec<u8>,
    rest: Option<FileRest>,
}

/// Reads a small file as a whole, and only the header of a large one.
fn open_file(settings: &Settings, path: &str) -> Result<EmlFile, Reason> {
    let (mut file, size) = settings.base.open(path).map_err(Reason::File)?;
    let limit = settings.size_limit;
    if size > limit {
        return Err(Reason::File(FileError::TooLarge { name: path.to_owned(), size, limit }));
    }
    let unavailable = |source| Reason::File(FileError::Unavailable { name: path.to_owned(), source });
    let mut head = Vec::new();
    std::io::Read::by_ref(&mut file).take(MAX_IN_MEMORY + 1).read_to_end(&mut head).map_err(unavailable)?;
    if head.len() as u64 <= MAX_IN_MEMORY {
        return Ok(EmlFile { head, rest: None });
    }
    // No relay accepts a header of that size.
    let end = headers::header_end(&head).ok_or(Reason::NoHeader)?;
    head.truncate(end);
    let rest = FileRest::open(file, end as u64).map_err(unavailable)?;
    Ok(EmlFile { head, rest: Some(rest) })
}

fn compose(settings: &Settings, row: &ClaimedRow) -> Result<Envelope, Reason> {
    let fields = row.fields.as_ref().ok_or(Reason::NoPath)?;
    let path = fields.get("eml_path").as_text().filter(|path| !path.is_empty()).ok_or(Reason::NoPath)?;
    let text = open_file(settings, path)?;
    let mut message = headers::SplitMessage::split(headers::skip_preamble(&text.head));
    if let Some(name) = message.unsupported_bcc {
        return Err(Reason::UnsupportedBcc(name));
    }
    let found = headers::read(&message.header)?;
    let mut fingerprint = Fingerprint::new();
    fingerprint.add(path.as_bytes());
    fingerprint.add(&message.header);
    let fingerprint = fingerprint.finish();
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
    let earlier =
        recipients::earlier_results(earlier, &found.to, &fingerprint).map_err(Reason::EarlierResults)?;
    let recipients_chosen = recipients::choose(found.to, earlier);
    if recipients_chosen.pending.is_empty() {
        return Err(Reason::AllSettled);
    }
    let utf8 = std::iter::once(&from)
        .chain(&recipients_chosen.pending)
        .any(|address| recipients::needs_utf8(address));
    Ok(Envelope {
        dedupe: id.clone(),
        attempt: row.counters.attempts + 1,
        lease: postrider_seams::LeaseCheck::default(),
        content: Content::Mail(Mail {
            from,
            to: recipients_chosen.pending,
            message: message.without_bcc().into(),
            rest: text.rest.map(|rest| Arc::new(rest) as Arc<dyn MessageTail>),
            message_id,
            utf8,
            settled: recipients_chosen.settled,
            metadata: Vec::new(),
        }),
        row: id,
        detail: Detail::from([(FINGERPRINT.to_owned(), Value::Text(fingerprint))]),
    })
}
