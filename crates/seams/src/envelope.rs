//! What a composer hands to a transport: a message ready to go.

use std::time::Duration;

use bytes::Bytes;

use crate::lease_check::LeaseCheck;
use crate::recheck::Recheck;
use crate::rest::Rest;
use crate::row::Detail;
use crate::secret::Secret;

/// One message, ready to go.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// The row's key, for logs.
    pub row: String,
    /// The same for every delivery of the same row: receivers drop duplicates by it.
    pub dedupe: String,
    /// 1 for the first.
    pub attempt: u32,
    /// Is the row still its worker's? Set by the engine; transports ask by [`Envelope::may_begin`].
    pub lease: LeaseCheck,
    pub content: Content,
    /// What the contract may write as `$envelope.X`.
    pub detail: Detail,
}

#[derive(Debug, Clone)]
pub enum Content {
    Mail(Mail),
    Record(Record),
    Webhook(Box<Webhook>),
    /// Nothing at all: benches and the engine's own tests.
    Nothing,
}

/// An e-mail as SMTP sees it.
#[derive(Debug, Clone)]
pub struct Mail {
    /// The envelope sender; empty for the null sender.
    pub from: String,
    /// Envelope recipients, already normalised, Bcc included; never empty.
    pub to: Vec<String>,
    /// The message, CRLF line ends, no Bcc header: all of it, or all up to where `rest` goes on.
    pub message: Bytes,
    /// What is too large to be held: read while it is sent.
    pub rest: Option<Rest>,
    /// The message's own Message-ID, without angle brackets.
    pub message_id: String,
    /// Needs SMTPUTF8: an address has a non-ASCII local part.
    pub utf8: bool,
    /// Recipients that an earlier attempt settled, accepted or refused: recorded, not sent to again.
    pub served: Vec<Recipient>,
    /// What the sender's own bookkeeping knows the mail by (`traceId`, `subscriptionId`): providers that keep tags or
    /// metadata get it; for SMTP the composer writes headers. Names are unique; no secret in it.
    pub metadata: Vec<(String, String)>,
}

impl Mail {
    /// Bytes of the whole message.
    pub fn size(&self) -> u64 {
        self.message.len() as u64 + self.rest.as_ref().map_or(0, Rest::size)
    }

    pub fn is_ascii(&self) -> bool {
        self.message.is_ascii() && self.rest.as_ref().is_none_or(Rest::is_ascii)
    }

    /// The same mail, with all of its message in memory.
    pub async fn loaded(&self) -> std::io::Result<Self> {
        let mut mail = self.clone();
        if let Some(rest) = mail.rest.take() {
            mail.message = [&mail.message[..], &rest.load().await?].concat().into();
        }
        Ok(mail)
    }
}

/// A record for a broker. What a topic is, the broker's transport says: a Kafka topic, a subject, a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub topic: String,
    /// Records of one key stay in order.
    pub key: Option<String>,
    /// As it is in the row, to the byte.
    pub payload: Bytes,
    /// Names are unique; neither names nor values hold a NUL.
    pub headers: Vec<(String, String)>,
}

/// An HTTP POST. Its id is the envelope's `dedupe`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// As the row has it; the transport says whether it can be dialled.
    pub url: String,
    /// The row's own; names and values are such that HTTP takes them.
    pub headers: Vec<(String, String)>,
    pub content_type: String,
    pub body: Bytes,
    /// For one attempt; by default the transport's.
    pub timeout: Option<Duration>,
    /// The whole value of `Authorization`.
    pub authorization: Option<Secret>,
    /// Hosts that the account's credentials may go to (see [`crate::hosts`]); `None` for requests without an account.
    pub allowed_hosts: Option<Vec<String>>,
    /// Keys of the signatures, the newest first: two while one takes over from the other, none for unsigned requests.
    pub signing: Vec<Secret>,
    /// The receiver may take it for later: `{"ack":false,"delaySeconds":n}`.
    pub may_postpone: bool,
    /// Who asked for it, should the receiver be gone for good.
    pub subscription: Option<String>,
    /// Whose it is: clients that share a host take turns at it.
    pub client: Option<String>,
    /// Seconds by which the database's clock is ahead of this machine's: signatures are dated by the database's.
    pub clock_offset: i64,
    /// Asked right before it is sent.
    pub recheck: Option<Recheck>,
}

/// What became of one recipient.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Recipient {
    pub address: String,
    /// `accepted`, `deferred` or `refused`.
    pub result: RecipientResult,
    /// The server's words; empty when accepted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reply: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecipientResult {
    Accepted,
    Deferred,
    Refused,
}
