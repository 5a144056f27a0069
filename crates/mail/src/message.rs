//! A draft becomes the bytes of a message: CRLF line ends, ASCII unless an address needs SMTPUTF8, no Bcc.
//!
//! Invariant: the same draft gives the same bytes; nothing in it depends on the moment or on chance.

use mail_builder::MessageBuilder;
use mail_builder::headers::HeaderType;
use mail_builder::headers::address::{Address as Written, EmailAddress};
use mail_builder::headers::date::Date;
use mail_builder::headers::message_id::MessageId;
use mail_builder::headers::raw::Raw;
use mail_builder::headers::text::Text;

use crate::header::{Custom, VALUE_LIMIT, can_fold, has_control};
use crate::{Attachment, Mailbox, mime};

/// Why a draft can't be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("subject: holds a control character (CR, LF or another), which no header may")]
    SubjectControl,
    #[error("subject: longer than {VALUE_LIMIT} bytes")]
    SubjectLong,
    #[error("{0}: holds a NUL character, which no mail may")]
    Nul(&'static str),
}

/// Everything that one message is made of, borrowed from where it lies.
#[derive(Debug, Clone, Copy)]
pub struct Draft<'a> {
    pub from: &'a Mailbox,
    pub to: &'a [Mailbox],
    pub cc: &'a [Mailbox],
    pub reply_to: &'a [Mailbox],
    pub subject: Option<&'a str>,
    pub text: Option<&'a str>,
    pub html: Option<&'a str>,
    pub headers: &'a [Custom],
    pub attachments: &'a [Attachment],
    /// Without angle brackets.
    pub message_id: &'a str,
    /// Unix seconds.
    pub date: i64,
}

impl Draft<'_> {
    /// Writes the message into one buffer.
    pub fn write(&self) -> Result<Vec<u8>, Error> {
        let body = mime::structure(self)?;
        let mut builder = MessageBuilder::new()
            .header("Date", Date::new(self.date))
            .header("Message-ID", MessageId::new(self.message_id))
            .header("From", mailbox(self.from));
        if self.to.is_empty() && self.cc.is_empty() {
            // RFC 5322 wants some recipient; this is the customary one where all are blind.
            builder = builder.header("To", Raw::new("undisclosed-recipients:;"));
        }
        for (name, mailboxes) in [("To", self.to), ("Cc", self.cc), ("Reply-To", self.reply_to)] {
            if !mailboxes.is_empty() {
                builder = builder.header(name, list(mailboxes));
            }
        }
        if let Some(subject) = self.subject {
            builder = builder.header("Subject", checked_subject(subject)?);
        }
        for custom in self.headers {
            builder = builder.header(custom.name(), unstructured(custom.value()));
        }
        let mut message = Vec::new();
        builder.body(body).serialize(&mut message);
        if !message.ends_with(b"\r\n") {
            message.extend_from_slice(b"\r\n");
        }
        Ok(message)
    }

    /// Does a header need SMTPUTF8?
    pub fn needs_utf8(&self) -> bool {
        let lists = [std::slice::from_ref(self.from), self.to, self.cc, self.reply_to];
        lists.iter().copied().flatten().any(|mailbox| mailbox.address.needs_utf8())
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

/// ASCII that can be folded at its spaces stays readable (and List-Unsubscribe usable); the rest is encoded.
fn unstructured(value: &str) -> HeaderType<'_> {
    let plain = value.is_ascii() && can_fold(value) && value.trim() == value && !value.contains("  ");
    if plain { Raw::new(value).into() } else { Text::new(value).into() }
}

fn mailbox(mailbox: &Mailbox) -> Written<'_> {
    Written::Address(EmailAddress {
        name: mailbox.name.as_deref().map(Into::into),
        email: mailbox.address.as_str().into(),
    })
}

fn list(mailboxes: &[Mailbox]) -> Written<'_> {
    Written::List(mailboxes.iter().map(mailbox).collect())
}
