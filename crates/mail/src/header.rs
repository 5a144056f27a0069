//! Custom headers of a row: the names that a row may set, and the values that it may give them.
//!
//! Invariant: a checked header cannot end its line, and cannot replace a header that we write.

use crate::address::{self, Mailbox, parse_mailbox};
use crate::quote;

mod standard;
#[cfg(test)]
mod tests;

pub use standard::{MessageHeaders, parse_with_standard};

/// Longest header name in bytes.
const NAME_LIMIT: usize = 76;
/// Longest run of bytes without a space: a line can only be folded at a space, and is limited to 998 bytes.
const RUN_LIMIT: usize = 900;
/// Longest header value in bytes.
pub const VALUE_LIMIT: usize = 16 * 1024;
/// Longest Message-ID of a row in bytes.
const MESSAGE_ID_LIMIT: usize = 250;
/// Largest number of custom headers per row.
pub const COUNT_LIMIT: usize = 100;

/// The reason why a header is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error(
        "invalid header name {0}: only printable ASCII without spaces and colons, at most {NAME_LIMIT} bytes"
    )]
    Name(String),
    #[error("header {name} can't be set here: {instead}")]
    Reserved { name: String, instead: &'static str },
    #[error("header {0} contains a control character such as CR or LF")]
    Control(String),
    #[error("header {0} has more than {RUN_LIMIT} bytes without a space, which can't be folded")]
    Run(String),
    #[error("header {0} is longer than {VALUE_LIMIT} bytes")]
    Long(String),
    #[error("more than {COUNT_LIMIT} headers")]
    Many,
    #[error("not a JSON object of header names and values: {0}")]
    Json(String),
    #[error("header {0} must have a string, a number, or a list of strings")]
    Value(String),
    #[error("header {name}: {source}")]
    Address { name: String, source: address::Error },
    #[error("header Message-ID: {0} is not <NAME@DOMAIN> of at most {MESSAGE_ID_LIMIT} bytes")]
    MessageId(String),
}

/// A custom header of a row, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomHeader {
    name: String,
    value: String,
    /// The mailbox of the header `Sender`.
    mailbox: Option<Mailbox>,
}

impl CustomHeader {
    /// Checks a header; fails if the name is reserved or invalid, or if the value could break the message.
    pub fn new(name: &str, value: &str) -> Result<Self, Error> {
        check_name(name, &[])?;
        check_value(name, value)?;
        let is_sender = name.eq_ignore_ascii_case("sender");
        let mailbox = is_sender.then(|| parse_mailbox(value)).transpose();
        let mailbox = mailbox.map_err(|source| Error::Address { name: name.to_owned(), source })?;
        Ok(Self { name: name.to_owned(), value: value.trim_matches([' ', '\t']).to_owned(), mailbox })
    }

    /// Returns the mailbox of the header `Sender`; `None` for any other header.
    pub fn mailbox(&self) -> Option<&Mailbox> {
        self.mailbox.as_ref()
    }

    /// Returns the header's name as the row wrote it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the header's value, unfolded and unencoded.
    pub fn value(&self) -> &str {
        &self.value
    }
}

/// Parses a JSON object of names and values; a list of values repeats the header. Null values are left out.
pub fn parse(json: &str) -> Result<Vec<CustomHeader>, Error> {
    pairs(json, &[])?.iter().map(|(name, value)| CustomHeader::new(name, value)).collect()
}

/// Parses a JSON object into names and values. Only names are checked; `allowed` ones, in lower case, are not reserved.
fn pairs(json: &str, allowed: &[&str]) -> Result<Vec<(String, String)>, Error> {
    use serde_json::Value;
    let object: serde_json::Map<String, Value> =
        serde_json::from_str(json).map_err(|error| Error::Json(error.to_string()))?;
    let mut found = Vec::with_capacity(object.len());
    for (name, value) in &object {
        check_name(name, allowed)?;
        match value {
            Value::Null => {}
            Value::String(text) => found.push((name.clone(), text.clone())),
            Value::Number(number) => found.push((name.clone(), number.to_string())),
            Value::Array(values) => {
                for value in values {
                    let text = value.as_str().ok_or_else(|| Error::Value(name.clone()))?;
                    found.push((name.clone(), text.to_owned()));
                }
            }
            Value::Bool(_) | Value::Object(_) => return Err(Error::Value(name.clone())),
        }
        if found.len() > COUNT_LIMIT {
            return Err(Error::Many);
        }
    }
    Ok(found)
}

fn check_name(name: &str, allowed: &[&str]) -> Result<(), Error> {
    let printable = |byte: u8| (33..=126).contains(&byte) && byte != b':';
    if name.is_empty() || name.len() > NAME_LIMIT || !name.bytes().all(printable) {
        return Err(Error::Name(quote(name)));
    }
    let lower = name.to_ascii_lowercase();
    match reserved_advice(&lower).filter(|_| !allowed.contains(&lower.as_str())) {
        Some(instead) => Err(Error::Reserved { name: name.to_owned(), instead }),
        None => Ok(()),
    }
}

/// Returns advice for a header that only we or mail servers write; `None` if a row may set it.
fn reserved_advice(lower: &str) -> Option<&'static str> {
    const FIELD: &str = "it has a message field of its own";
    const US: &str = "it is made for each message";
    const RELAY: &str = "only mail servers write it";
    Some(match lower {
        "from" | "to" | "cc" | "bcc" | "reply-to" | "subject" => FIELD,
        "date" | "message-id" | "dkim-signature" | "mime-version" => US,
        "return-path" | "received" | "authentication-results" => RELAY,
        _ if lower.starts_with("content-") => US,
        _ if lower.starts_with("arc-") || lower.starts_with("resent-") => RELAY,
        _ => return None,
    })
}

fn check_value(name: &str, value: &str) -> Result<(), Error> {
    if has_control(value) {
        return Err(Error::Control(name.to_owned()));
    }
    if value.len() > VALUE_LIMIT {
        return Err(Error::Long(name.to_owned()));
    }
    if value.is_ascii() && !can_fold(value) {
        return Err(Error::Run(name.to_owned()));
    }
    Ok(())
}

/// Whether the text contains a control character other than tab, including C1 and the Unicode line separators.
pub(crate) fn has_control(text: &str) -> bool {
    text.chars().any(|c| (c.is_control() && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}'))
}

/// Whether the value has enough spaces to be folded below the line limit.
pub(crate) fn can_fold(value: &str) -> bool {
    value.split([' ', '\t']).all(|run| run.len() <= RUN_LIMIT)
}
