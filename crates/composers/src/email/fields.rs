//! Reads column values of mail rows in the types in which databases return them.

use std::borrow::Cow;

use postrider_mail::address::{self, Mailbox};
use postrider_mail::date;
use postrider_seams::{Fields, Value};

use super::Reason;

/// Returns text, or bytes that are valid UTF-8 (a BLOB column); `None` for NULL.
pub fn text<'a>(fields: &'a Fields, field: &'static str) -> Result<Option<&'a str>, Reason> {
    match fields.get(field) {
        Value::Null => Ok(None),
        Value::Text(text) => Ok(Some(text)),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(Reason::NotUtf8 { field, at: error.valid_up_to() }),
        },
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => Err(Reason::NotText { field }),
    }
}

/// Returns text that is neither NULL nor blank.
pub fn non_blank<'a>(fields: &'a Fields, field: &'static str) -> Result<Option<&'a str>, Reason> {
    Ok(text(fields, field)?.filter(|text| !text.trim().is_empty()))
}

/// Returns the text of a JSON column that is neither NULL, blank nor the JSON value `null`.
pub fn json<'a>(fields: &'a Fields, field: &'static str) -> Result<Option<&'a str>, Reason> {
    Ok(non_blank(fields, field)?.filter(|text| text.trim() != "null"))
}

/// Returns a key: text or an integer.
pub fn key<'a>(fields: &'a Fields, field: &'static str) -> Result<Option<Cow<'a, str>>, Reason> {
    match fields.get(field) {
        Value::Int(number) => Ok(Some(Cow::Owned(number.to_string()))),
        _ => Ok(non_blank(fields, field)?.map(Cow::Borrowed)),
    }
}

/// Parses a column as a list of mailboxes; NULL and blank give an empty list.
pub fn mailboxes(fields: &Fields, field: &'static str) -> Result<Vec<Mailbox>, Reason> {
    match non_blank(fields, field)? {
        None => Ok(Vec::new()),
        Some(text) => address::parse_list(text).map_err(|source| Reason::Address { field, source }),
    }
}

/// Parses a column as at most one mailbox; several are an error.
pub fn mailbox(fields: &Fields, field: &'static str) -> Result<Option<Mailbox>, Reason> {
    let mut found = mailboxes(fields, field)?;
    match found.len() {
        0 | 1 => Ok(found.pop()),
        many => Err(Reason::Address { field, source: address::Error::Many { found: many } }),
    }
}

/// Returns a time column in Unix seconds.
pub fn time(fields: &Fields, field: &'static str) -> Result<Option<i64>, Reason> {
    match fields.get(field) {
        Value::Int(number) => Ok(Some(date::from_epoch(*number))),
        _ => match non_blank(fields, field)? {
            None => Ok(None),
            Some(text) => date::parse(text).map(Some).ok_or(Reason::Date),
        },
    }
}
