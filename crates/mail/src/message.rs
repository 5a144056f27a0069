//! Writes the parts of a message as its bytes: CRLF line endings, ASCII unless an address needs SMTPUTF8, no Bcc.
//!
//! Invariant: the same parts give the same bytes; they depend neither on the current time nor on randomness.

use mail_builder::MessageBuilder;
use mail_builder::headers::HeaderType;
use mail_builder::headers::address::{Address as BuilderAddress, EmailAddress};
use mail_builder::headers::date::Date;
use mail_builder::headers::message_id::MessageId;
use mail_builder::headers::raw::Raw;
use mail_builder::headers::text::Text;

use crate::header::{CustomHeader, VALUE_LIMIT, can_fold, has_control};
use crate::{Attachment, Mailbox, mime};

/// The reason why a message cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("subject: contains a control character such as CR or LF")]
    SubjectControl,
    #[error("subject: longer than {VALUE_LIMIT} bytes")]
    SubjectLong,
    #[error("{0}: contains a NUL character")]
    Nul(&'static str),
}

/// The parts of one message, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct MessageParts<'a> {
    pub from: &'a Mailbox,
    pub to: &'a [Mailbox],
    pub cc: &'a [Mailbox],
    pub reply_to: &'a [Mailbox],
    pub subject: Option<&'a str>,
    pub text: Option<&'a str>,
    pub html: Option<&'a str>,
    pub headers: &'a [CustomHeader],
    pub attachments: &'a [Attachment],
    /// The Message-ID without angle brackets.
    pub message_id: &'a str,
    /// The Date in Unix seconds.
    pub date: i64,
}

impl MessageParts<'_> {
    /// Writes the message into one buffer; fails if the subject or a body is invalid.
    pub fn write(&self) -> Result<Vec<u8>, Error> {
        let body = mime::structure(self)?;
        let mut builder = MessageBuilder::new()
            .header("Date", Date::new(self.date))
            .header("Message-ID", MessageId::new(self.message_id))
            .header("From", builder_address(self.from));
        if self.to.is_empty() && self.cc.is_empty() {
            // RFC 5322 requires a recipient; this is the usual one if all are blind.
            builder = builder.header("To", Raw::new("undisclosed-recipients:;"));
        }
        for (name, mailboxes) in [("To", self.to), ("Cc", self.cc), ("Reply-To", self.reply_to)] {
            if !mailboxes.is_empty() {
                builder = builder.header(name, address_list(mailboxes));
            }
        }
        if let Some(subject) = self.subject {
            builder = builder.header("Subject", checked_subject(subject)?);
        }
        for custom in self.headers {
            builder = match custom.mailbox() {
                Some(mailbox) => builder.header(custom.name(), builder_address(mailbox)),
                None => builder.header(custom.name(), unstructured(custom.value())),
            };
        }
        let mut message = Vec::new();
        builder.body(body).serialize(&mut message);
        if !message.ends_with(b"\r\n") {
            message.extend_from_slice(b"\r\n");
        }
        Ok(message)
    }

    /// Whether an address in the headers needs SMTPUTF8.
    pub fn needs_utf8(&self) -> bool {
        let lists = [std::slice::from_ref(self.from), self.to, self.cc, self.reply_to];
        let sender = self.headers.iter().filter_map(CustomHeader::mailbox);
        lists.iter().copied().flatten().chain(sender).any(|mailbox| mailbox.address.needs_utf8())
    }
}

fn checked_subject(subject: &str) -> Result<HeaderType<'_>, Error> {
    if has_control(subject) {
        return Err(Error::SubjectControl);
    }
    if subject.len() > VALUE_LIMIT {
        return Err(Error::SubjectLong);
    }
    Ok(unstructured(subject))
}

/// Writes ASCII that can be folded at spaces as it is (List-Unsubscribe stays usable), and encodes all other text.
fn unstructured(value: &str) -> HeaderType<'_> {
    let plain = value.is_ascii() && can_fold(value) && value.trim() == value && !value.contains("  ");
    if plain { Raw::new(value).into() } else { Text::new(value).into() }
}

fn builder_address(mailbox: &Mailbox) -> BuilderAddress<'_> {
    BuilderAddress::Address(EmailAddress {
        name: mailbox.name.as_deref().map(Into::into),
        email: mailbox.address.as_str().into(),
    })
}

fn address_list(mailboxes: &[Mailbox]) -> BuilderAddress<'_> {
    BuilderAddress::List(mailboxes.iter().map(builder_address).collect())
}
