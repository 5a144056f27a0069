//! The `email` composer (rules M8, M9): one row is one message.
//!
//! Fields: `to`, `cc`, `bcc`, `from`, `reply_to` (addresses, see `postrider_mail::address::parse_list`); `subject`;
//! `text` and `html`, or `template`, `variables` (JSON) and `locale` instead of them; `headers` and `attachments`
//! (JSON), `headers.NAME` (one header each); `dedupe` (a stable key; default: the row's id); `date` (when the mail was written; default: now); `created`
//! (any value; part of the fingerprint); `results` (the result of each recipient in earlier attempts).
//!
//! A row that cannot be composed is rejected with a reason that names the field; the other rows are not affected.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_mail::{Address, LiveTemplates, Mailbox, Signer};
use postrider_seams::{ClaimedRow, Composer, Envelope, Failure, Outcome};

mod bodies;
pub(crate) mod compose;
mod fields;
mod headers;
mod reason;
pub(crate) mod sign;
#[cfg(test)]
mod tests;

pub use reason::Reason;

/// Default size limit of a message: 25 MB (rule M8).
pub const SIZE_LIMIT: u64 = 25 * 1024 * 1024;
/// Default limit of recipients per message: To, Cc and Bcc together.
pub const RECIPIENT_LIMIT: usize = 1000;
/// Rows composed before yielding to other tasks; one row takes about ten microseconds.
const YIELD_EVERY: usize = 32;

/// The settings of one lane's mail.
#[derive(Debug)]
pub struct Settings {
    /// The name of the lane or the table: the first part of every Message-ID.
    pub name: String,
    /// Sender of rows that have none.
    pub from: Option<Mailbox>,
    /// Envelope sender, to which bounces go. Default: the message's From.
    pub bounces: Option<Address>,
    /// Right side of Message-IDs. Default: the sender's domain.
    pub domain: Option<String>,
    /// DKIM signers. Each one that covers the From domain signs; several (RSA and Ed25519) may.
    pub signers: Vec<Signer>,
    pub templates: Option<LiveTemplates>,
    /// Size limit in bytes, of a row's fields and of the composed message.
    pub size_limit: u64,
    pub recipient_limit: usize,
}

impl Settings {
    /// Creates settings with default limits, no default sender, no signers and no templates.
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

/// Composes one mail per row.
#[derive(Debug, Clone)]
pub struct EmailComposer {
    settings: Arc<Settings>,
    /// Returns the current Unix seconds; used for Date headers only.
    now: fn() -> i64,
}

impl EmailComposer {
    /// Creates a composer that uses the system clock.
    pub fn new(settings: Settings) -> Self {
        Self { settings: Arc::new(settings), now: postrider_mail::date::now }
    }
}

#[async_trait]
impl Composer for EmailComposer {
    async fn compose(&self, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
        let now = (self.now)();
        let mut composed = Vec::with_capacity(rows.len());
        for rows in rows.chunks(YIELD_EVERY) {
            let chunk = rows
                .iter()
                .map(|row| compose::compose(&self.settings, row, now).map_err(|reason| rejected(&reason)));
            composed.extend(chunk);
            tokio::task::yield_now().await;
        }
        if !self.settings.signers.is_empty() {
            composed = sign::sign(&self.settings, composed).await;
        }
        composed.into_iter().map(|composed| composed.map(compose::ComposedMail::into_envelope)).collect()
    }

    fn size_limit(&self) -> u64 {
        self.settings.size_limit
    }

    async fn recipients(&self, rows: &[&ClaimedRow]) -> Vec<Vec<String>> {
        let one = |row: &&ClaimedRow| {
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
