//! E-mail addresses and lists of them, checked once and normalised: an `Address` is safe in SMTP and in a header.
//!
//! Invariant: an `Address` holds no control character, no white space and no angle bracket; its domain is ASCII.

use std::borrow::Cow;
use std::fmt;

use crate::header::has_control;
use crate::quote;

mod list;
#[cfg(test)]
mod tests;

pub use list::{parse_list, parse_mailbox};

/// Longest local part in octets (RFC 5321, 4.5.3.1).
pub const LOCAL_LIMIT: usize = 64;
/// Longest domain in octets (RFC 5321, 4.5.3.1).
pub const DOMAIN_LIMIT: usize = 255;
/// Longest address in octets: local part, `@` and domain.
pub const ADDRESS_LIMIT: usize = 320;

/// The reason why a text is not an address. Quoted input is shortened and escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the address is empty")]
    Empty,
    #[error("{0} contains a control character such as a line break")]
    Control(String),
    #[error("{0} is not an address: there is no @ with something on both sides of it")]
    NoAt(String),
    #[error("{0} has more than {LOCAL_LIMIT} bytes before the @")]
    LocalTooLong(String),
    #[error("{0} has a domain of more than {DOMAIN_LIMIT} bytes")]
    DomainTooLong(String),
    #[error("{0} is longer than {ADDRESS_LIMIT} bytes")]
    TooLong(String),
    #[error("{0} is not an address: the part before the @ has a character that must not be there")]
    Local(String),
    #[error("{0} is not an address: the domain is not a valid host name")]
    Domain(String),
    #[error("{0} is not an address, nor `Name <address>`")]
    Form(String),
    #[error("{0} has a quotation mark or an angle bracket that is never closed")]
    Unclosed(String),
    #[error("the list is not JSON of addresses: {0}")]
    Json(String),
    #[error("there are {found} addresses where one is expected")]
    Many { found: usize },
}

/// An e-mail address, `local@domain`, with the domain in lower-case A-labels.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    text: String,
    at: usize,
}

impl Address {
    /// Parses a bare address; surrounding spaces are dropped.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let text = text.trim_matches(' ');
        if text.is_empty() {
            return Err(Error::Empty);
        }
        if text.chars().any(char::is_control) {
            return Err(Error::Control(quote(text)));
        }
        let at = text.rfind('@').ok_or_else(|| Error::NoAt(quote(text)))?;
        let (local, domain) = (&text[..at], &text[at + 1..]);
        if local.is_empty() || domain.is_empty() {
            return Err(Error::NoAt(quote(text)));
        }
        if local.len() > LOCAL_LIMIT {
            return Err(Error::LocalTooLong(quote(text)));
        }
        if !is_local(local) {
            return Err(Error::Local(quote(text)));
        }
        if domain.len() > DOMAIN_LIMIT * 4 {
            return Err(Error::DomainTooLong(quote(text)));
        }
        let domain = ascii_domain(domain).ok_or_else(|| Error::Domain(quote(text)))?;
        if domain.len() > DOMAIN_LIMIT {
            return Err(Error::DomainTooLong(quote(text)));
        }
        if at + 1 + domain.len() > ADDRESS_LIMIT {
            return Err(Error::TooLong(quote(text)));
        }
        let mut checked = String::with_capacity(at + 1 + domain.len());
        checked.push_str(local);
        checked.push('@');
        checked.push_str(&domain);
        Ok(Self { text: checked, at })
    }

    /// Returns the whole address, `local@domain`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the part before the `@`, in its original case.
    pub fn local(&self) -> &str {
        &self.text[..self.at]
    }

    /// Returns the domain, in lower-case A-labels.
    pub fn domain(&self) -> &str {
        &self.text[self.at + 1..]
    }

    /// Whether the address needs SMTPUTF8, which only its local part can cause.
    pub fn needs_utf8(&self) -> bool {
        !self.text.is_ascii()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// An address and its display name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    pub name: Option<String>,
    pub address: Address,
}

impl Mailbox {
    /// Creates a mailbox; a blank name means no display name. Fails if the name is invalid in a header.
    pub fn new(name: &str, address: Address) -> Result<Self, Error> {
        let name = name.trim();
        if has_control(name) || name.contains('\t') {
            return Err(Error::Control(quote(name)));
        }
        Ok(Self { name: (!name.is_empty()).then(|| name.to_owned()), address })
    }
}

/// Whether the text is a local part of RFC 5321, with one restriction: a quoted one must not contain white space, angle
/// brackets or backslashes. These are legal, but servers that parse `RCPT TO:<…>` carelessly misread them.
fn is_local(local: &str) -> bool {
    let misread = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '\\');
    !local.contains(misread) && email_address::EmailAddress::is_valid_local_part(local)
}

/// Parses a domain and returns it in lower-case A-labels; `None` if it is no host name or has no dot.
pub fn parse_domain(text: &str) -> Option<String> {
    let domain = ascii_domain(text)?;
    (domain.len() <= DOMAIN_LIMIT && domain.contains('.')).then(|| domain.into_owned())
}

/// Returns the domain in lower-case A-labels; `None` if it is no host name.
pub(crate) fn ascii_domain(domain: &str) -> Option<Cow<'_, str>> {
    if is_plain_host(domain) {
        return Some(Cow::Borrowed(domain));
    }
    let ascii = idna::domain_to_ascii_strict(domain).ok()?;
    (!ascii.is_empty() && !ascii.ends_with('.')).then_some(Cow::Owned(ascii))
}

/// Whether the domain consists of lower-case ASCII labels that are not encoded: the common case, without Unicode
/// tables.
fn is_plain_host(domain: &str) -> bool {
    domain.split('.').all(|label| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
            && !label.starts_with("xn--")
    })
}
