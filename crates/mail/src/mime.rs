//! The MIME structure of a draft: `mixed(alternative(text, related(html, inline…)), attachment…)`, without absent
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
use crate::message::{Draft, Error};
use crate::message_id::{push_hash, push_hex};

/// Builds the MIME structure of `draft`. A draft without a body gets an empty text.
pub fn structure<'a>(draft: &Draft<'a>) -> Result<MimePart<'a>, Error> {
    let text = draft.text.map(|text| lines("text", text)).transpose()?;
    let html = draft.html.map(|html| lines("html", html)).transpose()?;
    let bare = draft.attachments.is_empty() && (text.is_none() || html.is_none());
    let mut boundaries = if bare { Boundaries::none() } else { Boundaries::of(draft) };
    let related = |attachment: &&Attachment| draft.html.is_some() && attachment.cid.is_some();
    let (inside, beside): (Vec<_>, Vec<_>) = draft.attachments.iter().partition(related);

    let html = html.map(|html| {
        let html = MimePart::new("text/html", BodyPart::Text(html));
        boundaries.wrap("multipart/related", html, inside.into_iter().map(attached).collect())
    });
    let text = text.map(|text| MimePart::new("text/plain", BodyPart::Text(text)));
    let body = match (text, html) {
        (Some(text), Some(html)) => boundaries.wrap("multipart/alternative", text, vec![html]),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => MimePart::new("text/plain", ""),
    };
    Ok(boundaries.wrap("multipart/mixed", body, beside.into_iter().map(attached).collect()))
}

/// Builds the part of an attachment, always in base64, even for text: the bytes arrive unchanged and need no search for
/// a boundary. (The builder would send text with lone CRs or NULs as 7bit; a raw Content-Type prevents that.)
fn attached(attachment: &Attachment) -> MimePart<'_> {
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
fn lines<'a>(field: &'static str, text: &'a str) -> Result<Cow<'a, str>, Error> {
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
    seed: String,
    used: usize,
}

impl Boundaries {
    fn none() -> Self {
        Self { seed: String::new(), used: 0 }
    }

    fn of(draft: &Draft<'_>) -> Self {
        let mut seed = String::with_capacity(32);
        push_hash(&mut seed, draft.message_id);
        // A producer who knows the Message-ID could write the boundary into a body: then the hash includes the bodies
        // too.
        let guessed = contents(draft).any(|content| find(content, seed.as_bytes()));
        if guessed {
            let mut context = Context::new(&SHA256);
            context.update(draft.message_id.as_bytes());
            contents(draft).for_each(|content| context.update(content));
            seed.clear();
            push_hex(&mut seed, &context.finish().as_ref()[..16]);
        }
        Self { seed, used: 0 }
    }

    /// Returns `first` alone, or a multipart of `first` and the other parts if there are any.
    fn wrap<'a>(&mut self, kind: &'static str, first: MimePart<'a>, rest: Vec<MimePart<'a>>) -> MimePart<'a> {
        if rest.is_empty() {
            return first;
        }
        let boundary = format!("=_{}_{}", self.seed, self.used);
        self.used += 1;
        let parts: Vec<_> = std::iter::once(first).chain(rest).collect();
        MimePart::new(ContentType::new(kind).attribute("boundary", boundary), parts)
    }
}

/// Returns the contents that may be sent unencoded.
fn contents<'a>(draft: &Draft<'a>) -> impl Iterator<Item = &'a [u8]> {
    [draft.text, draft.html].into_iter().flatten().map(str::as_bytes)
}

/// Whether `needle` follows an underscore in `hay`, as it does in a boundary.
fn find(hay: &[u8], needle: &[u8]) -> bool {
    hay.split(|&byte| byte == b'_').skip(1).any(|rest| rest.starts_with(needle))
}
