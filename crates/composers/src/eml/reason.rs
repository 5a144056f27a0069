//! Reasons why a payload cannot be composed into a message. Every reason names the member and what is wrong with it.

use postrider_mail::{address, attachment, header};

use crate::base_folder::FileError;

/// The reason why a payload cannot be composed into a message.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    #[error("payload: the row names no payload file")]
    NoPath,
    #[error("payload: {0}")]
    File(FileError),
    #[error("payload: invalid JSON: {0}")]
    Json(String),
    #[error("{member}: {problem}")]
    Member { member: String, problem: String },
    #[error("id: the payload is of e-mail {0}, not of this one")]
    OtherId(String),
    #[error("{member}: {source}")]
    Address { member: &'static str, source: address::Error },
    #[error("from: exactly one sender is needed")]
    SenderCount,
    #[error("to: no recipient, and none in cc or bcc either")]
    NoRecipients,
    #[error("to: {found} recipients (cc and bcc included), more than the limit of {limit}")]
    ManyRecipients { found: usize, limit: usize },
    #[error("body_text: there is neither body_text nor body_html nor an attachment")]
    NoBody,
    #[error("custom_headers: {0}")]
    Header(#[from] header::Error),
    #[error("attachments: {found}, more than the limit of {limit}")]
    ManyAttachments { found: usize, limit: usize },
    #[error("attachments: attachment {n} has neither a path nor content")]
    NoContent { n: usize },
    #[error("attachments: attachment {n} has both a path and content; only one is allowed")]
    PathAndContent { n: usize },
    #[error("attachments: attachment {n}: {problem}")]
    Attachment { n: usize, problem: FileError },
    #[error("attachments: {0}")]
    AttachmentFormat(#[from] attachment::Error),
    #[error("attachments: together they have more than {limit} bytes")]
    AttachmentsTooLarge { limit: u64 },
    #[error("{0}")]
    Message(String),
    #[error("the message has {size} bytes; at most {limit} are allowed")]
    TooLarge { size: u64, limit: u64 },
}
