//! The MIME structure of a message: `mixed(alternative(text, related(html, inline…)), attachment…)`, without absent
//! parts.
//!
//! Invariant: boundaries are deterministic, and none occurs inside a part: quoted-printable and base64 cannot produce
//! "=_", and parts that are sent unencoded are searched for the boundary.

use std::borrow::Cow;

use mail_builder::headers::content_type::ContentType;
use mail_builder::headers::raw::Raw;
use mail_builder::mime::{BodyPart, MimePart};
use ring::digest::{Context, SHA256};

use crate::Attachment;
use crate::message::{Error, MessageParts};
use crate::message_id::{push_hash, push_hex};

/// Builds the MIME structure of `parts`. A message without a body gets an empty text.
pub fn structure<'a>(parts: &MessageParts<'a>) -> Result<MimePart<'a>, Error> {
    let text = parts.text.map(|text| normalise_line_ends("text", text)).transpose()?;
    let html = parts.html.map(|html| normalise_line_ends("html", html)).transpose()?;
    let bare = parts.attachments.is_empty() && (text.is_none() || html.is_none());
    let mut boundaries = if bare { Boundaries::none() } else { Boundaries::of(parts) };
    let is_inline = |attachment: &&Attachment| parts.html.is_some() && attachment.cid.is_some();
    let (inline, separate): (Vec<_>, Vec<_>) = parts.attachments.iter().partition(is_inline);

    let html = html.map(|html| {
        let html = MimePart::new("text/html", BodyPart::Text(html));
        boundaries.wrap("multipart/related", html, inline.into_iter().map(attachment_part).collect())
    });
    let text = text.map(|text| MimePart::new("text/plain", BodyPart::Text(text)));
    let body = match (text, html) {
        (Some(text), Some(html)) => boundaries.wrap("multipart/alternative", text, vec![html]),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => MimePart::new("text/plain", ""),
    };
    Ok(boundaries.wrap("multipart/mixed", body, separate.into_iter().map(attachment_part).collect()))
}

/// Builds the part of an attachment, always in base64, even for text: the bytes arrive unchanged and need no search for
/// a boundary. (The builder would send text with lone CRs or NULs as 7bit; a raw Content-Type prevents that.)
fn attachment_part(attachment: &Attachment) -> MimePart<'_> {
    let mut disposition = ContentType::new(if attachment.inline { "inline" } else { "attachment" });
    if !attachment.filename.is_empty() {
        disposition = disposition.attribute("filename", attachment.filename.as_str());
    }
    let part = MimePart::raw(BodyPart::Binary(Cow::Borrowed(&attachment.content)))
        .header("Content-Type", Raw::new(attachment.kind.to_string()))
        .header("Content-Disposition", disposition);
    match &attachment.cid {
        Some(cid) => part.cid(cid.as_str()),
        None => part,
    }
}

/// Replaces lone carriage returns by line breaks and rejects NUL. Copies the text only if needed.
fn normalise_line_ends<'a>(field: &'static str, text: &'a str) -> Result<Cow<'a, str>, Error> {
    if text.as_bytes().contains(&0) {
        return Err(Error::Nul(field));
    }
    let lone = |at: usize| text.as_bytes().get(at + 1) != Some(&b'\n');
    if !text.match_indices('\r').any(|(at, _)| lone(at)) {
        return Ok(Cow::Borrowed(text));
    }
    Ok(Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")))
}

/// Generates the boundaries of one message.
struct Boundaries {
    prefix: String,
    used: usize,
}

impl Boundaries {
    fn none() -> Self {
        Self { prefix: String::new(), used: 0 }
    }

    fn of(parts: &MessageParts<'_>) -> Self {
        let mut prefix = String::with_capacity(32);
        push_hash(&mut prefix, parts.message_id);
        // A producer who knows the Message-ID could write the boundary into a body: then the hash includes the bodies
        // too.
        let occurs = contents(parts).any(|content| contains_boundary(content, prefix.as_bytes()));
        if occurs {
            let mut context = Context::new(&SHA256);
            context.update(parts.message_id.as_bytes());
            contents(parts).for_each(|content| context.update(content));
            prefix.clear();
            push_hex(&mut prefix, &context.finish().as_ref()[..16]);
        }
        Self { prefix, used: 0 }
    }

    /// Returns `first` alone, or a multipart of `first` and the other parts if there are any.
    fn wrap<'a>(&mut self, kind: &'static str, first: MimePart<'a>, rest: Vec<MimePart<'a>>) -> MimePart<'a> {
        if rest.is_empty() {
            return first;
        }
        let boundary = format!("=_{}_{}", self.prefix, self.used);
        self.used += 1;
        let parts: Vec<_> = std::iter::once(first).chain(rest).collect();
        MimePart::new(ContentType::new(kind).attribute("boundary", boundary), parts)
    }
}

/// Returns the contents that may be sent unencoded.
fn contents<'a>(parts: &MessageParts<'a>) -> impl Iterator<Item = &'a [u8]> {
    [parts.text, parts.html].into_iter().flatten().map(str::as_bytes)
}

/// Whether `needle` follows an underscore in `content`, as it does in a boundary.
fn contains_boundary(content: &[u8], needle: &[u8]) -> bool {
    content.split(|&byte| byte == b'_').skip(1).any(|rest| rest.starts_with(needle))
}
