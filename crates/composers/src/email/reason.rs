//! Reasons why a row cannot be composed into a mail. Every reason names the field and what is wrong with it.

use postrider_mail::{address, attachment, header, message, templates};

/// The reason why a row cannot be composed into a mail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("the row's fields were not loaded")]
    NotLoaded,
    #[error("{field}: not valid UTF-8 (first wrong byte at {at})")]
    NotUtf8 { field: &'static str, at: usize },
    #[error("{field}: a number or boolean where text is expected")]
    NotText { field: &'static str },
    #[error("{field}: {source}")]
    Address { field: &'static str, source: address::Error },
    #[error("from: the row has no sender and the lane has no default one")]
    NoSender,
    #[error("to: no recipient, and none in cc or bcc either")]
    NoRecipients,
    #[error("to: {found} recipients (cc and bcc included), more than the limit of {limit}")]
    ManyRecipients { found: usize, limit: usize },
    #[error("results: every recipient has accepted this message already; empty the column to send it again")]
    AllSettled,
    #[error("{field}: invalid JSON: {problem}")]
    Json { field: &'static str, problem: String },
    #[error("headers: {0}")]
    Header(#[from] header::Error),
    #[error("headers.{name}: not valid UTF-8 (first wrong byte at {at})")]
    HeaderUtf8 { name: String, at: usize },
    #[error("attachments: {0}")]
    Attachment(#[from] attachment::Error),
    #[error("template: {0}")]
    Template(#[from] templates::Error),
    #[error("template: the row names one, but no template folder is set for this lane")]
    NoTemplates,
    #[error("template: the row has a template and bodies of its own; it may have one or the other")]
    TemplateAndBodies,
    #[error("variables: must be a JSON object")]
    Variables,
    #[error("text: the row has neither text, html, template nor attachments")]
    NoBody,
    #[error("{0}")]
    Message(#[from] message::Error),
    #[error("date: not a time that can be read")]
    Date,
    #[error("the message has {size} bytes, more than the limit of {limit}")]
    TooLarge { size: u64, limit: u64 },
}
