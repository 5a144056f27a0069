//! Headers that a row brings itself: which names it may set, and what a value may hold.
//!
//! Invariant: a checked header can't end its own line, and can't stand in for one that we write ourselves.

use crate::quote;

#[cfg(test)]
mod tests;

/// The longest header name.
const NAME_LIMIT: usize = 76;
/// The longest run without a space: a line can only be folded at one, and may have 998 bytes.
const RUN_LIMIT: usize = 900;
/// The longest value.
pub const VALUE_LIMIT: usize = 16 * 1024;
/// The most headers of its own that a row may have.
pub const COUNT_LIMIT: usize = 100;

/// Why a header is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error(
        "header name {0} is not one: only printable ASCII without spaces and colons, at most {NAME_LIMIT} bytes"
    )]
    Name(String),
    #[error("header {name} can't be set here: {instead}")]
    Ours { name: String, instead: &'static str },
    #[error("header {0} holds a control character (CR, LF or another), which no header may")]
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
}

/// A header of the row's own, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Custom {
    name: String,
    value: String,
}

impl Custom {
    pub fn new(name: &str, value: &str) -> Result<Self, Error> {
        check_name(name)?;
        check_value(name, value)?;
        Ok(Self { name: name.to_owned(), value: value.trim_matches([' ', '\t']).to_owned() })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn value(&self) -> &str {
        &self.value
    }
}

/// Parses a JSON object of names and values; a list of values repeats the header. NULL values are left out.
pub fn parse(json: &str) -> Result<Vec<Custom>, Error> {
    use serde_json::Value;
    let object: serde_json::Map<String, Value> =
        serde_json::from_str(json).map_err(|error| Error::Json(error.to_string()))?;
    let mut found = Vec::with_capacity(object.len());
    for (name, value) in &object {
        match value {
            Value::Null => check_name(name)?,
            Value::String(text) => found.push(Custom::new(name, text)?),
            Value::Number(number) => found.push(Custom::new(name, &number.to_string())?),
            Value::Array(values) => {
                for value in values {
                    let text = value.as_str().ok_or_else(|| Error::Value(name.clone()))?;
                    found.push(Custom::new(name, text)?);
                }
            }
            Value::Bool(_) | Value::Object(_) => {
                check_name(name)?;
                return Err(Error::Value(name.clone()));
            }
        }
        if found.len() > COUNT_LIMIT {
            return Err(Error::Many);
        }
    }
    Ok(found)
}

fn check_name(name: &str) -> Result<(), Error> {
    let printable = |byte: u8| (33..=126).contains(&byte) && byte != b':';
    if name.is_empty() || name.len() > NAME_LIMIT || !name.bytes().all(printable) {
        return Err(Error::Name(quote(name)));
    }
    match ours(&name.to_ascii_lowercase()) {
        Some(instead) => Err(Error::Ours { name: name.to_owned(), instead }),
        None => Ok(()),
    }
}

/// What to do instead, for headers that only we write.
fn ours(lower: &str) -> Option<&'static str> {
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

/// Every control character but the tab, C1 ones and Unicode's line separators included.
pub(crate) fn has_control(text: &str) -> bool {
    text.chars().any(|c| (c.is_control() && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}'))
}

/// Is there a space often enough to keep lines below their limit?
pub(crate) fn can_fold(value: &str) -> bool {
    value.split([' ', '\t']).all(|run| run.len() <= RUN_LIMIT)
}
