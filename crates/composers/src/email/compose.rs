//! Composes one row into one message.

use std::collections::HashSet;

use postrider_contract::{FINGERPRINT, RESULTS};
use postrider_mail::{Mailbox, MessageParts, attachment, message_id};
use postrider_seams::envelope::Recipient;
use postrider_seams::row::Detail;
use postrider_seams::{ClaimedRow, Content, Envelope, Fields, Mail, Value};

use super::{Reason, Settings, bodies, fields, headers};
use crate::fingerprint::Fingerprint;
use crate::recipients::{self, Recipients};

/// Longest time, in seconds, for which a message keeps the row's date. Mail that waited longer (it was scheduled, or
/// the lane was down) gets the current time as its Date: mail readers sort by it, and spam filters distrust old dates.
/// Younger rows keep their date, so that a retry sends identical bytes.
const MAX_DATE_AGE: i64 = 24 * 3600;

/// A composed message, not yet signed.
#[derive(Debug)]
pub struct ComposedMail {
    pub message: Vec<u8>,
    /// The domain of the From.
    pub domain: String,
    /// Unix seconds of the Date.
    pub date: i64,
    pub row: String,
    pub dedupe: String,
    pub attempt: u32,
    pub message_id: String,
    pub from: String,
    pub to: Vec<String>,
    pub settled: Vec<Recipient>,
    pub utf8: bool,
    pub metadata: Vec<(String, String)>,
    /// Values for `$envelope.X` in addition to the Message-ID.
    pub detail: Detail,
}

/// Composes the message of a row; `now` is in Unix seconds.
pub fn compose(settings: &Settings, row: &ClaimedRow, now: i64) -> Result<ComposedMail, Reason> {
    let fields = row.fields.as_ref().ok_or(Reason::NotLoaded)?;
    let from = fields::mailbox(fields, "from")?.or_else(|| settings.from.clone()).ok_or(Reason::NoSender)?;
    let (to, cc) = (fields::mailboxes(fields, "to")?, fields::mailboxes(fields, "cc")?);
    let (bcc, mut reply_to) = (fields::mailboxes(fields, "bcc")?, fields::mailboxes(fields, "reply_to")?);
    let fingerprint = fingerprint(fields);
    let recipients = choose_recipients(fields, [&to, &cc, &bcc], settings.recipient_limit, &fingerprint)?;

    let bodies = bodies::read(settings, fields)?;
    let headers = headers::read(fields)?;
    if reply_to.is_empty() {
        reply_to.clone_from(&headers.reply_to);
    }
    let attachments =
        fields::json(fields, "attachments")?.map(attachment::parse).transpose()?.unwrap_or_default();
    if bodies.text.is_none() && bodies.html.is_none() && attachments.is_empty() {
        return Err(Reason::NoBody);
    }

    let id = row.lease.id.to_string();
    let dedupe = fields::key(fields, "dedupe")?.map_or_else(|| id.clone(), Into::into);
    let domain = from.address.domain();
    let message_id = headers
        .message_id
        .unwrap_or_else(|| message_id(&settings.name, &dedupe, settings.domain.as_deref().unwrap_or(domain)));
    let date = date(fields, now)?;
    let parts = MessageParts {
        from: &from,
        to: &to,
        cc: &cc,
        reply_to: &reply_to,
        subject: bodies.subject.as_deref(),
        text: bodies.text.as_deref(),
        html: bodies.html.as_deref(),
        headers: &headers.custom,
        attachments: &attachments,
        message_id: &message_id,
        date,
    };
    let message = parts.write()?;
    check_size(message.len(), settings.size_limit)?;
    let sender = settings.bounces.as_ref().unwrap_or(&from.address);
    Ok(ComposedMail {
        utf8: recipients.pending.iter().any(|address| recipients::needs_utf8(address))
            || parts.needs_utf8()
            || sender.needs_utf8(),
        from: sender.as_str().to_owned(),
        domain: domain.to_owned(),
        message,
        date,
        row: id,
        dedupe,
        attempt: row.counters.attempts + 1,
        message_id,
        to: recipients.pending,
        settled: recipients.settled,
        metadata: Vec::new(),
        detail: Detail::from([(FINGERPRINT.to_owned(), Value::Text(fingerprint))]),
    })
}

/// Returns the fingerprint of a row: of everything that makes its message, but not of its recipients, which are compared
/// one by one.
fn fingerprint(row: &Fields) -> String {
    let mut fingerprint = Fingerprint::new();
    fingerprint.add_fields(row, &FINGERPRINT_FIELDS);
    let headers = row.iter().map(|(field, _)| field).filter(|field| field.starts_with(headers::PREFIX));
    fingerprint.add_fields(row, &headers.collect::<Vec<_>>());
    fingerprint.finish()
}

const FINGERPRINT_FIELDS: [&str; 12] = [
    "from",
    "reply_to",
    "subject",
    "text",
    "html",
    "headers",
    "attachments",
    "template",
    "variables",
    "locale",
    "dedupe",
    "created",
];

/// Returns the recipients of this attempt.
fn choose_recipients(
    fields: &Fields,
    lists: [&[Mailbox]; 3],
    limit: usize,
    fingerprint: &str,
) -> Result<Recipients, Reason> {
    let mut unique = HashSet::new();
    let addresses = lists.into_iter().flatten().map(|mailbox| mailbox.address.as_str());
    let all: Vec<String> = addresses.filter(|address| unique.insert(*address)).map(str::to_owned).collect();
    if all.is_empty() {
        return Err(Reason::NoRecipients);
    }
    if all.len() > limit {
        return Err(Reason::ManyRecipients { found: all.len(), limit });
    }
    let earlier = recipients::earlier_results(fields::json(fields, RESULTS)?, &all, fingerprint)
        .map_err(|error| Reason::Json { field: RESULTS, problem: error.to_string() })?;
    let recipients = recipients::choose(all, earlier);
    if recipients.pending.is_empty() { Err(Reason::AllSettled) } else { Ok(recipients) }
}

fn check_size(size: usize, limit: u64) -> Result<(), Reason> {
    let size = size as u64;
    if size > limit { Err(Reason::TooLarge { size, limit }) } else { Ok(()) }
}

fn date(row: &Fields, now: i64) -> Result<i64, Reason> {
    Ok(message_date(fields::time(row, "date")?, now))
}

/// Returns the time at which the mail was written, or `now` if that is more than a day ago, in the future or unknown.
pub fn message_date(written: Option<i64>, now: i64) -> i64 {
    written.filter(|written| (now - MAX_DATE_AGE..=now).contains(written)).unwrap_or(now)
}

impl ComposedMail {
    /// Converts the message into the envelope that the transport sends.
    pub fn into_envelope(self) -> Envelope {
        let mut detail = self.detail;
        detail.insert("message_id".to_owned(), Value::Text(self.message_id.clone()));
        Envelope {
            row: self.row,
            dedupe: self.dedupe,
            attempt: self.attempt,
            lease: postrider_seams::LeaseCheck::default(),
            content: Content::Mail(Mail {
                from: self.from,
                to: self.to,
                message: self.message.into(),
                rest: None,
                message_id: self.message_id,
                utf8: self.utf8,
                settled: self.settled,
                metadata: self.metadata,
            }),
            detail,
        }
    }
}
