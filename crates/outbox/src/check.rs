//! Validation of single values before a statement is sent. Pure functions without I/O.

use crate::Error;

/// Checks text for a key or a header: not blank, no control characters, at most `limit` characters.
pub fn short(field: &'static str, text: &str, limit: usize) -> Result<(), Error> {
    if text.trim().is_empty() {
        return Err(Error::Empty { field });
    }
    line(field, text)?;
    let found = text.chars().count();
    if found > limit { Err(Error::TooLong { field, found, limit }) } else { Ok(()) }
}

/// Checks text of one line, which may be empty; control characters other than the tab are an error.
pub fn line(field: &str, text: &str) -> Result<(), Error> {
    if has_control(text) { Err(Error::Control { field: field.to_owned() }) } else { Ok(()) }
}

/// Checks text of any length and any number of lines; only NUL is an error.
pub fn long(field: &'static str, text: &str) -> Result<(), Error> {
    if text.contains('\0') { Err(Error::Nul { field }) } else { Ok(()) }
}

/// Checks the name of a table, column or type. It must not contain a character that could end its quotes.
pub fn name(name: &str) -> Result<(), Error> {
    let fine = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | ' ');
    if name.trim().is_empty() || name.len() > 63 || !name.chars().all(fine) {
        return Err(Error::Name { name: name.to_owned() });
    }
    Ok(())
}

/// Whether the text has a control character other than the tab, or a Unicode line separator.
fn has_control(text: &str) -> bool {
    text.chars().any(|c| (c.is_control() && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}'))
}

/// Checks the name of a mail header that an application sets; names that the worker or mail servers set are refused.
pub fn header_name(name: &str) -> Result<(), Error> {
    let refuse = |why| Err(Error::Header { name: name.to_owned(), why });
    let printable = |byte: u8| (33..=126).contains(&byte) && byte != b':';
    if name.is_empty() || name.len() > 76 || !name.bytes().all(printable) {
        return refuse("a name has only printable ASCII, no spaces, no colons, at most 76 bytes");
    }
    let lower = name.to_ascii_lowercase();
    match lower.as_str() {
        "from" | "to" | "cc" | "bcc" | "reply-to" | "subject" => {
            refuse("the mail has a method of its own for it")
        }
        "date" | "message-id" | "dkim-signature" | "mime-version" => refuse("it is made for each message"),
        "return-path" | "received" | "authentication-results" => refuse("only mail servers write it"),
        _ if lower.starts_with("content-") => refuse("it is made for each message"),
        _ if lower.starts_with("arc-") || lower.starts_with("resent-") => {
            refuse("only mail servers write it")
        }
        _ => Ok(()),
    }
}
