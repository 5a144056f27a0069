//! The `email` composer (rules M8, M9): one row is one message.
//!
//! Fields: `to`, `cc`, `bcc`, `from`, `reply_to` (addresses, see `postrider_mail::address::parse_list`); `subject`;
//! `text` and `html`, or `template`, `variables` (JSON) and `locale` instead of them; `headers` and `attachments`
//! (JSON); `dedupe` (a stable key; else the row's id is it); `date` (when it was written; else now); `results` (what
//! became of each recipient before).
//!
//! A row that can't be composed is rejected with a reason that names the field; the rows beside it go on.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_mail::{Address, LiveTemplates, Mailbox, Signer};
use postrider_seams::{Claimed, Composer, Envelope, Failure, Outcome};

mod bodies;
pub(crate) mod draft;
mod fields;
mod reason;
pub(crate) mod sign;
#[cfg(test)]
mod tests;

pub use reason::Reason;

/// 25 MB (rule M8).
pub const SIZE_LIMIT: u64 = 25 * 1024 * 1024;
/// What one message may have, To, Cc and Bcc together.
pub const RECIPIENT_LIMIT: usize = 1000;
/// Rows between two points where other tasks get their turn: each costs some ten microseconds.
const TURN: usize = 32;

/// How mail is composed for one lane.
#[derive(Debug)]
pub struct Settings {
    /// The lane's or the table's name: the first part of every Message-ID.
    pub name: String,
    /// For rows without a sender.
    pub from: Option<Mailbox>,
    /// Where bounces go (the envelope's sender), if not to the message's From.
    pub bounces: Option<Address>,
    /// The right side of Message-IDs; the sender's domain if none.
    pub domain: Option<String>,
    /// Those that cover the From's domain sign. Several (RSA and Ed25519) may.
    pub signers: Vec<Signer>,
    pub templates: Option<LiveTemplates>,
    /// Bytes of a row's fields, and of the message made of them.
    pub size_limit: u64,
    pub recipient_limit: usize,
}

impl Settings {
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            from: None,
            bounces: None,
            domain: None,
            signers: Vec::new(),
            templates: None,
            size_limit: SIZE_LIMIT,
            recipient_limit: RECIPIENT_LIMIT,
        }
    }
}

/// Composes mails.
#[derive(Debug, Clone)]
pub struct EmailComposer {
    settings: Arc<Settings>,
    /// Unix seconds, for Date headers only.
    now: fn() -> i64,
}

impl EmailComposer {
    pub fn new(settings: Settings) -> Self {
        Self { settings: Arc::new(settings), now: postrider_mail::date::now }
    }
}

#[async_trait]
impl Composer for EmailComposer {
    async fn compose(&self, rows: &[Claimed]) -> Vec<Result<Envelope, Outcome>> {
        let now = (self.now)();
        let mut composed = Vec::with_capacity(rows.len());
        for rows in rows.chunks(TURN) {
            let chunk = rows
                .iter()
                .map(|row| draft::compose(&self.settings, row, now).map_err(|reason| rejected(&reason)));
            composed.extend(chunk);
            tokio::task::yield_now().await;
        }
        if !self.settings.signers.is_empty() {
            composed = sign::sign(&self.settings, composed).await;
        }
        composed.into_iter().map(|composed| composed.map(draft::Composed::into_envelope)).collect()
    }

    fn size_limit(&self) -> u64 {
        self.settings.size_limit
    }

    async fn recipients(&self, rows: &[&Claimed]) -> Vec<Vec<String>> {
        let one = |row: &&Claimed| {
            let Some(fields) = &row.fields else { return Vec::new() };
            let lists = ["to", "cc", "bcc"].map(|field| fields::mailboxes(fields, field).unwrap_or_default());
            lists.into_iter().flatten().map(|mailbox| mailbox.address.as_str().to_owned()).collect()
        };
        rows.iter().map(one).collect()
    }
}

fn rejected(reason: &Reason) -> Outcome {
    Outcome::Rejected(Failure::new(crate::shortened(&reason.to_string())))
}
