//! The MIME structure of a draft: `mixed(alternative(text, related(html, inline…)), attachment…)`, less what is absent.
//!
//! Invariant: boundaries are stable, and none occurs inside a part: "=_" can't come out of quoted-printable or
//! base64, and what is sent as it is has been searched.

use std::borrow::Cow;

use mail_builder::headers::content_type::ContentType;
use mail_builder::headers::raw::Raw;
use mail_builder::mime::{BodyPart, MimePart};
use ring::digest::{Context, SHA256};

use crate::Attachment;
use crate::message::{Draft, Error};
use crate::message_id::{push_hash, push_hex};

/// The body of `draft`. A draft without any body gets an empty text.
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

/// Always base64, text too: the bytes arrive as they are, and none of them is searched for a boundary. (The builder
/// would send a text with lone CRs or NULs as 7bit; a raw Content-Type keeps it from looking.)
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

/// Makes lone carriage returns line breaks (mail has no other use for them) and refuses NUL. Copies only if it must.
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

/// Hands out the boundaries of one message.
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
        // Whoever knows the Message-ID could write the boundary into a body: then the seed depends on that body too.
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

    /// `first` alone, or as the first part of a multipart if there are others.
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

/// All that might go out unencoded.
fn contents<'a>(draft: &Draft<'a>) -> impl Iterator<Item = &'a [u8]> {
    [draft.text, draft.html].into_iter().flatten().map(str::as_bytes)
}

/// Does `needle` follow an underscore in `hay`, as it does in a boundary?
fn find(hay: &[u8], needle: &[u8]) -> bool {
    hay.split(|&byte| byte == b'_').skip(1).any(|rest| rest.starts_with(needle))
}
