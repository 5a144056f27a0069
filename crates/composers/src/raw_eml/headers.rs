//! What the envelope needs of a file's header, and the file without what nobody may see.

use std::collections::HashSet;

use mail_parser::{Address as Parsed, HeaderName, HeaderValue, Message, MessageParser};
use postrider_mail::Address;

use super::Reason;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub from: String,
    /// Each once, normalised.
    pub to: Vec<String>,
    pub message_id: Option<String>,
}

pub(super) fn read(file: &[u8]) -> Result<Found, Reason> {
    let message = MessageParser::default().parse_headers(file).ok_or(Reason::NoMessage)?;
    let sender = addresses(message.sender())?.into_iter().next();
    let from = match sender {
        Some(sender) => sender,
        None => addresses(message.from())?.into_iter().next().ok_or(Reason::NoSender)?,
    };
    let mut seen = HashSet::new();
    let mut to = Vec::new();
    for name in [HeaderName::To, HeaderName::Cc, HeaderName::Bcc] {
        for list in lists(&message, &name) {
            to.extend(addresses(Some(list))?.into_iter().filter(|address| seen.insert(address.clone())));
        }
    }
    if to.is_empty() {
        return Err(Reason::NoRecipients);
    }
    Ok(Found { from, to, message_id: message.message_id().map(str::to_owned) })
}

/// Every field of that name: a message should have one, and whoever is named in a second is a recipient as well.
fn lists<'a>(message: &'a Message<'a>, name: &HeaderName<'_>) -> Vec<&'a Parsed<'a>> {
    let list = |value: &'a HeaderValue<'a>| match value {
        HeaderValue::Address(list) => Some(list),
        _ => None,
    };
    let fields = message.headers().iter().filter(|field| field.name == *name);
    fields.filter_map(|field| list(&field.value)).collect()
}

/// A word that is no address is told: passed over, its mail would be lost without a trace.
fn addresses(list: Option<&Parsed<'_>>) -> Result<Vec<String>, Reason> {
    let mut found = Vec::new();
    for one in list.into_iter().flat_map(Parsed::iter) {
        let Some(address) = one.address().or_else(|| one.name()) else { continue };
        let checked = Address::parse(address).map_err(|wrong| Reason::Address(wrong.to_string()))?;
        found.push(checked.as_str().to_owned());
    }
    Ok(found)
}

/// The file without what some programs put before the header: a byte-order mark, the first line of an mbox.
pub(super) fn begin(file: &[u8]) -> &[u8] {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let postmark =
        file.split_inclusive(|&byte| byte == b'\n').next().filter(|line| line.starts_with(b"From "));
    &file[postmark.map_or(0, <[u8]>::len)..]
}

/// Where the header ends: after the first empty line.
pub(super) fn end(file: &[u8]) -> Option<usize> {
    let mut at = 0;
    for line in file.split_inclusive(|&byte| byte == b'\n') {
        at += line.len();
        if matches!(line, b"\n" | b"\r\n") {
            return Some(at);
        }
    }
    None
}

/// The file with CR LF at every line's end, and without the header fields that name blind recipients.
pub(super) fn without_bcc(file: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(file.len() + file.len() / 32);
    let (mut in_header, mut hidden) = (true, false);
    for line in file.split_inclusive(|&byte| byte == b'\n') {
        let bare = line.strip_suffix(b"\n").unwrap_or(line);
        let bare = bare.strip_suffix(b"\r").unwrap_or(bare);
        if in_header {
            in_header = !bare.is_empty();
            let continues = bare.starts_with(b" ") || bare.starts_with(b"\t");
            hidden = if continues { hidden } else { is_blind(bare) };
            if in_header && hidden {
                continue;
            }
        }
        // A CR of its own is no line end, and may not go out.
        message.extend(bare.iter().filter(|byte| **byte != b'\r'));
        message.extend_from_slice(b"\r\n");
    }
    message
}

fn is_blind(line: &[u8]) -> bool {
    let name = line.split(|&byte| byte == b':').next().unwrap_or_default().trim_ascii_end();
    [&b"bcc"[..], b"resent-bcc"].iter().any(|blind| name.eq_ignore_ascii_case(blind))
}
