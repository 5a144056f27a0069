//! Attachments of a row: a JSON list with the content in base64.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::quote;

#[cfg(test)]
mod tests;

/// Largest number of attachments per message.
pub const COUNT_LIMIT: usize = 100;
/// Longest file name in bytes.
const NAME_LIMIT: usize = 255;

/// The reason why an attachment is rejected; `n` counts from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("not a JSON list of attachments: {0}")]
    Json(String),
    #[error("more than {COUNT_LIMIT} attachments")]
    Many,
    #[error(
        "attachment {n}: the file name {name} is empty, too long, or holds a slash or a control character"
    )]
    Name { n: usize, name: String },
    #[error("attachment {n}: {found} is not a content type such as application/pdf")]
    Type { n: usize, found: String },
    #[error("attachment {n}: {found} can't be attached as such; use application/octet-stream")]
    Structured { n: usize, found: String },
    #[error("attachment {n}: the content is not base64")]
    Base64 { n: usize },
    #[error("attachment {n}: the cid {cid} may hold only letters, digits and . _ - @ +")]
    Cid { n: usize, cid: String },
}

/// An attachment, decoded and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub(crate) filename: String,
    pub(crate) kind: ContentType,
    pub(crate) content: Vec<u8>,
    /// Content-ID of an attachment that the HTML body shows as `cid:…`.
    pub(crate) cid: Option<String>,
    pub(crate) inline: bool,
}

/// A media type: `type/subtype` in lower case, and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContentType {
    pub essence: String,
    pub parameters: Vec<(String, String)>,
}

impl fmt::Display for ContentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.essence)?;
        self.parameters.iter().try_for_each(|(name, value)| write!(f, "; {name}=\"{value}\""))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAttachment<'a> {
    #[serde(borrow, default)]
    filename: Cow<'a, str>,
    #[serde(borrow, default)]
    content_type: Option<Cow<'a, str>>,
    /// Borrowed, as it may be most of the row.
    #[serde(borrow)]
    content: Cow<'a, str>,
    #[serde(default)]
    inline: bool,
    #[serde(borrow, default)]
    cid: Option<Cow<'a, str>>,
}

/// Parses `[{filename, content_type?, content, inline?, cid?}]`.
pub fn parse(json: &str) -> Result<Vec<Attachment>, Error> {
    let raw: Vec<RawAttachment<'_>> =
        serde_json::from_str(json).map_err(|error| Error::Json(error.to_string()))?;
    if raw.len() > COUNT_LIMIT {
        return Err(Error::Many);
    }
    raw.iter().enumerate().map(|(index, raw)| check(index + 1, raw)).collect()
}

fn check(n: usize, raw: &RawAttachment<'_>) -> Result<Attachment, Error> {
    let content = Attachment::decode(n, &raw.content)?;
    let (kind, cid) = (raw.content_type.as_deref(), raw.cid.as_deref());
    Attachment::new(n, &raw.filename, kind, content, raw.inline, cid)
}

impl Attachment {
    /// Creates the `n`-th attachment, counted from 1, and checks it. An attachment with a `cid` is inline.
    pub fn new(
        n: usize,
        filename: &str,
        content_type: Option<&str>,
        content: Vec<u8>,
        inline: bool,
        cid: Option<&str>,
    ) -> Result<Self, Error> {
        let is_forbidden = |c: char| c.is_control() || matches!(c, '/' | '\\' | '\u{2028}' | '\u{2029}');
        let named = !filename.is_empty() || cid.is_some();
        if !named || filename.len() > NAME_LIMIT || filename.contains(is_forbidden) {
            return Err(Error::Name { n, name: quote(filename) });
        }
        let kind = content_type.unwrap_or("application/octet-stream");
        let kind = parse_type(kind).ok_or_else(|| Error::Type { n, found: quote(kind) })?;
        // Their structure would have to be valid and unencoded, which we cannot guarantee for foreign bytes.
        if kind.essence.starts_with("multipart/") || kind.essence.starts_with("message/") {
            return Err(Error::Structured { n, found: kind.essence });
        }
        let cid = cid.map(|cid| check_cid(n, cid)).transpose()?;
        Ok(Self { filename: filename.to_owned(), kind, content, inline: inline || cid.is_some(), cid })
    }

    /// Decodes the base64 content of the `n`-th attachment, counted from 1.
    pub fn decode(n: usize, text: &str) -> Result<Vec<u8>, Error> {
        decode(text).ok_or(Error::Base64 { n })
    }
}

fn check_cid(n: usize, cid: &str) -> Result<String, Error> {
    let bare = cid.trim_start_matches('<').trim_end_matches('>');
    let is_valid = |b: u8| b.is_ascii_alphanumeric() || b"._-@+".contains(&b);
    if bare.is_empty() || bare.len() > NAME_LIMIT || !bare.bytes().all(is_valid) {
        return Err(Error::Cid { n, cid: quote(cid) });
    }
    Ok(bare.to_owned())
}

/// Decodes base64, also if it is wrapped in lines.
fn decode(text: &str) -> Option<Vec<u8>> {
    if text.bytes().any(|byte| byte.is_ascii_whitespace()) {
        let bare: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        return STANDARD.decode(bare).ok();
    }
    STANDARD.decode(text).ok()
}

fn parse_type(text: &str) -> Option<ContentType> {
    let mut parts = text.split(';');
    let (kind, subtype) = parts.next()?.trim().split_once('/')?;
    if !is_token(kind) || !is_token(subtype) {
        return None;
    }
    let parameters = parts.map(parse_parameter).collect::<Option<_>>()?;
    Some(ContentType { essence: format!("{kind}/{subtype}").to_ascii_lowercase(), parameters })
}

fn parse_parameter(text: &str) -> Option<(String, String)> {
    let (name, value) = text.trim().split_once('=')?;
    let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    let is_allowed = |b: u8| (32..=126).contains(&b) && b != b'"' && b != b'\\';
    let is_valid = is_token(name) && value.len() <= NAME_LIMIT && value.bytes().all(is_allowed);
    // We write the file name and the boundary ourselves.
    let is_reserved = name.eq_ignore_ascii_case("name") || name.eq_ignore_ascii_case("boundary");
    (is_valid && !is_reserved).then(|| (name.to_ascii_lowercase(), value.to_owned()))
}

/// Whether the text is a token of RFC 2045.
fn is_token(text: &str) -> bool {
    let is_valid = |b: u8| b.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?=".contains(&b);
    !text.is_empty() && text.len() <= 127 && text.bytes().all(is_valid)
}
