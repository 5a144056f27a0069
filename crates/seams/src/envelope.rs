//! Envelope: a message, ready to send, that a composer passes to a transport.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::lease_check::LeaseCheck;
use crate::message_tail::MessageTail;
use crate::recheck::Recheck;
use crate::row::Detail;
use crate::secret::Secret;

/// One message, ready to send.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// The row's key, for logs.
    pub row: String,
    /// Identical for every delivery of the same row: receivers drop duplicates by it.
    pub dedupe: String,
    /// The number of this attempt, from 1.
    pub attempt: u32,
    /// Whether the worker still holds the row. Set by the engine; transports call [`Envelope::may_begin`].
    pub lease: LeaseCheck,
    pub content: Content,
    /// Values that the contract may write as `$envelope.X`.
    pub detail: Detail,
}

/// The content of an envelope, by the kind of transport that sends it.
#[derive(Debug, Clone)]
pub enum Content {
    Mail(Mail),
    Record(Record),
    Webhook(Box<Webhook>),
    /// Empty, for benchmarks and the engine's tests.
    Nothing,
}

/// An e-mail with its SMTP envelope.
#[derive(Debug, Clone)]
pub struct Mail {
    /// The envelope sender; empty for the null sender.
    pub from: String,
    /// Envelope recipients, already normalised, Bcc included; never empty.
    pub to: Vec<String>,
    /// The message with CRLF line ends and without a Bcc header: all of it, or the part before `rest`.
    pub message: Bytes,
    /// The part that is too large for memory: read from a file while it is sent.
    pub rest: Option<Arc<dyn MessageTail>>,
    /// The message's own Message-ID, without angle brackets.
    pub message_id: String,
    /// Needs SMTPUTF8: an address has a non-ASCII local part.
    pub utf8: bool,
    /// Recipients that an earlier attempt settled (accepted or refused): recorded, but not sent to again.
    pub settled: Vec<Recipient>,
    /// Identifiers of the mail in the sender's own systems (`traceId`, `subscriptionId`): providers that support tags
    /// or metadata get them; for SMTP the composer writes headers. Names are unique; values contain no secret.
    pub metadata: Vec<(String, String)>,
}

impl Mail {
    /// Returns the size of the whole message, in bytes.
    pub fn size(&self) -> u64 {
        self.message.len() as u64 + self.rest.as_ref().map_or(0, |rest| rest.size())
    }

    /// Whether the whole message is ASCII.
    pub fn is_ascii(&self) -> bool {
        self.message.is_ascii() && self.rest.as_ref().is_none_or(|rest| rest.is_ascii())
    }

    /// Returns the mail with its whole message in memory. Errs if the file cannot be read or was changed.
    pub async fn loaded(&self) -> std::io::Result<Self> {
        let mut mail = self.clone();
        if let Some(rest) = mail.rest.take() {
            let (mut whole, mut blocks) = (mail.message.to_vec(), rest.blocks());
            while let Some(block) = blocks.next().await? {
                whole.extend_from_slice(&block);
            }
            mail.message = whole.into();
        }
        Ok(mail)
    }
}

/// A record for a broker. Its transport defines what a topic is: a Kafka topic, a subject, a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub topic: String,
    /// Records with the same key stay in order.
    pub key: Option<String>,
    /// The payload of the row, byte for byte.
    pub payload: Bytes,
    /// Names are unique; neither names nor values hold a NUL.
    pub headers: Vec<(String, String)>,
}

/// An HTTP POST request. Its id is the envelope's `dedupe`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// The URL of the row; the transport checks whether it may be dialled.
    pub url: String,
    /// The headers of the row; names and values are valid in HTTP.
    pub headers: Vec<(String, String)>,
    pub content_type: String,
    pub body: Bytes,
    /// Time limit of one attempt; `None` for the transport's default.
    pub timeout: Option<Duration>,
    /// The whole value of `Authorization`.
    pub authorization: Option<Secret>,
    /// Hosts to which the account's credentials may be sent (see [`crate::hosts`]); `None` for requests without an
    /// account.
    pub allowed_hosts: Option<Vec<String>>,
    /// Signing keys, newest first: two during a key rotation, none for unsigned requests.
    pub signing: Vec<Secret>,
    /// Whether the receiver may postpone it with `{"ack":false,"delaySeconds":n}`.
    pub may_postpone: bool,
    /// Whether a Retry-After of the receiver counts: the row's contract says so.
    pub follows_retry_after: bool,
    /// The subscription that the job belongs to; it is paused if the receiver is gone for good.
    pub subscription: Option<String>,
    /// The client that owns the job: clients that share a host are served round-robin.
    pub client: Option<String>,
    /// Seconds by which the database's clock is ahead of this machine's: signatures use the database's time.
    pub clock_offset: i64,
    /// A check that runs right before the request is sent.
    pub recheck: Option<Recheck>,
}

/// The result of one recipient.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Recipient {
    pub address: String,
    /// `accepted`, `deferred` or `refused`.
    pub result: RecipientResult,
    /// The server's reply; empty when accepted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reply: String,
}

/// The result that a server returned for a recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecipientResult {
    Accepted,
    Deferred,
    Refused,
}
