//! Encodes a mail as SMTP commands and dot-stuffed text.
//!
//! Must not: change a byte of the message, except for dot-stuffing. Invariant: no address and no message can end its
//! command or its text early, so nothing can be smuggled into the dialogue.

use std::borrow::Cow;
use std::io::Write;

use postrider_seams::Mail;

use crate::ehlo::Extensions;

#[cfg(test)]
mod tests;

/// Maximum length of an address in bytes: more than RFC 5321 allows (254), less than relays' line limits.
const MAX_ADDRESS: usize = 512;

/// The extensions that MAIL FROM must announce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RequiredExtensions {
    pub utf8: bool,
    pub eight_bit: bool,
}

/// Checks whether the relay can accept a mail at all; the error is the reason why not.
pub(crate) fn check_mail(
    mail: &Mail,
    extensions: &Extensions,
    max_size: u64,
) -> Result<RequiredExtensions, String> {
    let limit = extensions.max_size.map_or(max_size, |offered| offered.min(max_size));
    if mail.size() > limit {
        return Err(format!("the message has {} bytes; at most {limit} are accepted", mail.size()));
    }
    if mail.to.is_empty() {
        return Err("the mail has no recipient".to_owned());
    }
    let mut utf8 = mail.utf8;
    for address in std::iter::once(&mail.from).filter(|from| !from.is_empty()).chain(&mail.to) {
        utf8 |= check_address(address)?;
    }
    if utf8 && !extensions.utf8 {
        return Err("an address needs SMTPUTF8, which the relay does not offer".to_owned());
    }
    check_line_ends(&mail.message)?;
    Ok(RequiredExtensions { utf8, eight_bit: !mail.is_ascii() })
}

/// Checks an address and returns whether it needs SMTPUTF8.
fn check_address(address: &str) -> Result<bool, String> {
    let is_forbidden = |byte: u8| byte <= b' ' || byte == 0x7f || byte == b'<' || byte == b'>';
    if address.is_empty() || address.len() > MAX_ADDRESS || address.bytes().any(is_forbidden) {
        return Err(
            "an address is empty, too long, or contains a space, a bracket or a control character".to_owned()
        );
    }
    if address.is_ascii() {
        return Ok(false);
    }
    let (local, domain) = address.rsplit_once('@').unwrap_or((address, ""));
    if idna::domain_to_ascii(domain).is_err() {
        return Err("an address has a domain that is not a valid international domain name".to_owned());
    }
    Ok(!local.is_ascii())
}

/// Refuses a lone CR or LF: relays differ in how they read it, and SMTP smuggling exploits that difference.
fn check_line_ends(message: &[u8]) -> Result<(), String> {
    let mut ends = 0;
    for end in memchr::memchr_iter(b'\n', message) {
        if end == 0 || message[end - 1] != b'\r' {
            return Err("the message has a line that does not end in CR LF".to_owned());
        }
        ends += 1;
    }
    if memchr::memchr_iter(b'\r', message).count() != ends {
        return Err("the message has a CR without its LF".to_owned());
    }
    Ok(())
}

pub(crate) fn mail_from(
    out: &mut Vec<u8>,
    mail: &Mail,
    required: RequiredExtensions,
    extensions: &Extensions,
) {
    out.extend_from_slice(b"MAIL FROM:<");
    out.extend_from_slice(wire_address(&mail.from, required).as_bytes());
    out.push(b'>');
    if extensions.size {
        let _ = write!(out, " SIZE={}", mail.size());
    }
    // Without the offer the bytes go unchanged: recoding would break a signature, and relays accept them in practice.
    if required.eight_bit && extensions.eight_bit {
        out.extend_from_slice(b" BODY=8BITMIME");
    }
    if required.utf8 {
        out.extend_from_slice(b" SMTPUTF8");
    }
    out.extend_from_slice(b"\r\n");
}

pub(crate) fn rcpt_to(out: &mut Vec<u8>, address: &str, required: RequiredExtensions) {
    out.extend_from_slice(b"RCPT TO:<");
    out.extend_from_slice(wire_address(address, required).as_bytes());
    out.extend_from_slice(b">\r\n");
}

/// Returns the address as sent: without SMTPUTF8 an international domain becomes its A-label.
fn wire_address(address: &str, required: RequiredExtensions) -> Cow<'_, str> {
    if required.utf8 || address.is_ascii() {
        return Cow::Borrowed(address);
    }
    let (local, domain) = address.rsplit_once('@').unwrap_or((address, ""));
    let domain = idna::domain_to_ascii(domain).expect("check() refused what has no A-label");
    Cow::Owned(format!("{local}@{domain}"))
}

/// Returns the message as slices to copy in order: its own bytes, and a dot before each dot that begins a line.
pub(crate) fn dot_stuffed(message: &[u8]) -> impl Iterator<Item = &[u8]> {
    let first = message.starts_with(b".").then_some(&b"."[..]);
    first.into_iter().chain(dot_stuffed_within(message))
}

/// Dot-stuffs a message, except for a dot at its very beginning.
fn dot_stuffed_within(message: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    let inner = memchr::memmem::find_iter(message, b"\n.").flat_map(move |at| {
        let piece = &message[start..=at];
        start = at + 1;
        [piece, b"."]
    });
    // The last slice needs the last cut, which the iterator above consumed: find it again from the end.
    let tail = memchr::memmem::rfind(message, b"\n.").map_or(message, |at| &message[at + 1..]);
    inner.chain(std::iter::once(tail))
}

/// Dot-stuffs a message that comes in blocks, which may split lines.
#[derive(Debug)]
pub(crate) struct DotStuffer {
    /// Whether the next byte begins a line.
    at_line_start: bool,
}

impl Default for DotStuffer {
    /// The state after a complete header, which ends with a line end.
    fn default() -> Self {
        Self { at_line_start: true }
    }
}

impl DotStuffer {
    pub(crate) fn dot_stuffed<'a>(&mut self, block: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let first = (self.at_line_start && block.starts_with(b".")).then_some(&b"."[..]);
        if let Some(last) = block.last() {
            self.at_line_start = *last == b'\n';
        }
        first.into_iter().chain(dot_stuffed_within(block))
    }
}

/// Returns the end of the text: the missing line end, if any, and the final dot.
pub(crate) fn text_end(message: &[u8]) -> &'static [u8] {
    if message.is_empty() || message.ends_with(b"\r\n") { b".\r\n" } else { b"\r\n.\r\n" }
}
