//! An attempt as the contract may store it: the values of `$outcome.X`.

use std::time::Duration;

use postrider_seams::Value;
use postrider_seams::row::Detail;

/// Maximum bytes of a response that are stored (rule J1).
pub(crate) const BODY_LIMIT: usize = 4096;

/// The result class of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultClass {
    Success,
    ClientError,
    ServerError,
    Timeout,
    ConnectionError,
}

/// Whether another attempt could help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorType {
    Transient,
    Permanent,
    Unknown,
}

impl ResultClass {
    fn name(self) -> &'static str {
        match self {
            Self::Success => "SUCCESS",
            Self::ClientError => "CLIENT_ERROR",
            Self::ServerError => "SERVER_ERROR",
            Self::Timeout => "TIMEOUT",
            Self::ConnectionError => "CONNECTION_ERROR",
        }
    }
}

impl ErrorType {
    fn name(self) -> &'static str {
        match self {
            Self::Transient => "TRANSIENT",
            Self::Permanent => "PERMANENT",
            Self::Unknown => "UNKNOWN",
        }
    }
}

/// The record of one attempt.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attempt {
    pub class: ResultClass,
    pub error: Option<ErrorType>,
    pub status: Option<u16>,
    pub body: Option<String>,
    /// The chain of causes, one per line.
    pub trace: Option<String>,
    pub took: Duration,
    /// Whether the request was signed.
    pub signed: bool,
}

impl Attempt {
    /// Returns the record as named values for the contract.
    pub fn detail(self) -> Detail {
        let text = |text: &str| Value::Text(text.to_owned());
        let millis = i64::try_from(self.took.as_millis()).unwrap_or(i64::MAX);
        let mut detail = Detail::from([
            ("result".to_owned(), text(self.class.name())),
            ("duration_ms".to_owned(), Value::Int(millis)),
            ("signed".to_owned(), Value::Bool(self.signed)),
        ]);
        let mut add = |name: &str, value: Option<Value>| {
            detail.extend(value.map(|value| (name.to_owned(), value)));
        };
        add("class", self.error.map(|error| text(error.name())));
        add("status", self.status.map(|status| Value::Int(status.into())));
        add("body", self.body.map(Value::Text));
        add("trace", self.trace.map(Value::Text));
        detail
    }
}

/// Returns the start of a response as text that every database accepts: valid UTF-8, no NUL, within the limit.
pub(crate) fn truncated_body(body: &[u8]) -> Option<String> {
    if body.is_empty() {
        return None;
    }
    // A character split by the cut would decode as a replacement character.
    let start = &body[..body.len().min(BODY_LIMIT + 4)];
    let mut text = String::from_utf8_lossy(start).replace('\0', "\u{fffd}");
    if text.len() > BODY_LIMIT {
        let end = (0..=BODY_LIMIT).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j01_a_body_is_cut_at_a_character() {
        assert_eq!(truncated_body(b""), None);
        assert_eq!(truncated_body(b"a\0b\xff").unwrap(), "a\u{fffd}b\u{fffd}");
        let long = "ü".repeat(3000);
        let cut = truncated_body(long.as_bytes()).unwrap();
        assert_eq!((cut.len(), cut.chars().all(|c| c == 'ü')), (4096, true));
        let odd = format!("a{long}");
        let cut = truncated_body(odd.as_bytes()).unwrap();
        assert_eq!((cut.len(), cut.contains('\u{fffd}')), (4095, false));
        assert!(truncated_body(&[0xff; 9000]).unwrap().len() <= BODY_LIMIT);
    }
}
