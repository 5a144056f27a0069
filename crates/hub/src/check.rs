//! Checks of what callers say. Every mistake is noted; nothing stops at the first.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Error, Fault};

/// Mistakes, as they are found; `at` is where in the request we are (`[3].`).
#[derive(Debug, Default)]
pub struct Faults {
    at: String,
    found: Vec<Fault>,
}

impl Faults {
    pub fn note(&mut self, field: &str, message: impl Into<String>) {
        self.found.push(Fault::new(format!("{}{field}", self.at), message));
    }

    pub fn end(self) -> Result<(), Error> {
        if self.found.is_empty() { Ok(()) } else { Err(Error::Invalid(self.found)) }
    }

    /// 1 to `most` characters, none of them a control character.
    pub fn line(&mut self, field: &str, value: &str, most: usize) {
        let count = value.chars().count();
        if count == 0 || count > most {
            self.note(field, format!("must have 1 to {most} characters; it has {count}"));
        } else if value.chars().any(char::is_control) {
            self.note(field, "must not contain control characters");
        } else if value.starts_with(' ') || value.ends_with(' ') {
            self.note(field, "must not start or end with a space");
        }
    }

    pub fn maybe_line(&mut self, field: &str, value: Option<&str>, most: usize) {
        if let Some(value) = value {
            self.line(field, value, most);
        }
    }

    /// Text of several lines; only NUL can't be stored everywhere.
    pub fn text(&mut self, field: &str, value: &str, most: usize) {
        if value.len() > most {
            self.note(field, format!("must have at most {most} bytes; it has {}", value.len()));
        } else if value.contains('\0') {
            self.note(field, "must not contain the character NUL");
        }
    }

    /// Letters, digits, `.`, `_` and `-`: safe in a URL, a file name and a log.
    pub fn slug(&mut self, field: &str, value: &str, most: usize) {
        let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if value.is_empty() || value.len() > most || !value.chars().all(fine) {
            self.note(field, format!("must have 1 to {most} letters, digits, dots, underscores or hyphens"));
        }
    }

    pub fn maybe_slug(&mut self, field: &str, value: Option<&str>, most: usize) {
        if let Some(value) = value {
            self.slug(field, value, most);
        }
    }

    /// An id that we made.
    pub fn id(&mut self, field: &str, value: Option<&str>) {
        if value.is_some_and(|value| !is_id(value)) {
            self.note(field, "must be an id: 13 characters of 0-9 and A-Z without I, L, O and U");
        }
    }

    pub fn range(&mut self, field: &str, value: i64, allowed: std::ops::RangeInclusive<i64>) {
        if !allowed.contains(&value) {
            self.note(field, format!("must be from {} to {}", allowed.start(), allowed.end()));
        }
    }

    /// What a receiver gets besides our own headers.
    pub fn headers(&mut self, field: &str, headers: &BTreeMap<String, String>, signs_in: bool) {
        if headers.len() > 50 {
            self.note(field, "must not have more than 50 headers");
        }
        if headers.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() > HEADERS {
            self.note(field, format!("must have at most {HEADERS} bytes of names and values together"));
        }
        let mut known = BTreeSet::new();
        for (name, value) in headers {
            let at = format!("{field}.{name}");
            if name.len() > 100 || name.is_empty() || !name.bytes().all(is_token) {
                self.note(&at, "is not a valid HTTP header name: 1 to 100 letters, digits and hyphens");
            } else if OURS.contains(&name.to_ascii_lowercase().as_str()) {
                self.note(&at, "is set by Postrider or by the connection and cannot be overridden");
            } else if signs_in && name.eq_ignore_ascii_case("authorization") {
                self.note(&at, "is set by the service account");
            } else if !known.insert(name.to_ascii_lowercase()) {
                self.note(&at, "is given twice: header names are not case-sensitive");
            }
            if value.len() > 2000 || !value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte))
            {
                self.note(&at, "must have at most 2000 printable ASCII characters, and no line break");
            }
        }
    }
}

/// Bytes of a job's headers: what the delivery takes, and most servers do.
const HEADERS: usize = 8 * 1024;

/// Hop-by-hop headers (RFC 9110, 7.6.1), framing, and those of Standard Webhooks.
const OURS: [&str; 18] = [
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
];

/// A character of a header's name (RFC 9110, 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Could it be an id of ours? Others are refused before they reach the database, whose comparison may be laxer.
pub fn is_id(text: &str) -> bool {
    text.len() == 13 && text.bytes().all(|byte| b"0123456789ABCDEFGHJKMNPQRSTVWXYZ".contains(&byte))
}

/// `immediate`, `fixed`, `exponential`, or a JSON list of up to 20 delays in seconds, of up to six digits each.
pub fn is_strategy(text: &str) -> bool {
    if matches!(text, "immediate" | "fixed" | "exponential") {
        return true;
    }
    let delay = |delay: &str| {
        let delay = delay.trim_matches(' ');
        let digits = (1..=6).contains(&delay.len()) && delay.bytes().all(|byte| byte.is_ascii_digit());
        digits && (delay == "0" || !delay.starts_with('0'))
    };
    let delays = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    text.len() <= 255
        && delays.is_some_and(|delays| delays.split(',').count() <= 20 && delays.split(',').all(delay))
}

#[cfg(test)]
mod tests {
    use super::is_strategy;

    #[test]
    fn j06_a_strategy_is_a_name_or_a_list_of_seconds() {
        for fine in ["immediate", "fixed", "exponential", "[0]", "[5,60]", "[ 5 , 60 ]", "[604800]"] {
            assert!(is_strategy(fine), "{fine}");
        }
        for wrong in [
            "",
            "EXPONENTIAL",
            "[]",
            "[5,]",
            "[05]",
            "[-1]",
            "[1.5]",
            "[1000000]",
            "[5\n]",
            "5,60",
            "[\"5\"]",
        ] {
            assert!(!is_strategy(wrong), "{wrong}");
        }
        assert!(!is_strategy(&format!("[{}]", vec!["1"; 21].join(","))));
    }
}
