//! Reads sender and recipients from a file's header, and removes the fields that recipients must not see.

use std::collections::HashSet;

use mail_parser::{Address as Parsed, HeaderName, HeaderValue, MessageParser};
use postrider_mail::Address;

use super::Reason;
use super::line_ends::LineEnds;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ParsedHeader {
    pub from: String,
    /// Recipients without duplicates, normalised.
    pub to: Vec<String>,
    pub message_id: Option<String>,
    /// Whether the header has a Message-ID field, even one that cannot be parsed.
    pub has_message_id: bool,
}

pub(super) fn read(header: &[u8]) -> Result<ParsedHeader, Reason> {
    let message = MessageParser::default().parse_headers(header).ok_or(Reason::NoHeader)?;
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
    let has_message_id = message.header(HeaderName::MessageId).is_some();
    Ok(ParsedHeader { from, to, message_id: message.message_id().map(str::to_owned), has_message_id })
}

/// Returns every field of that name: a message should have one, but addresses in a second one are recipients as well.
fn lists<'a>(message: &'a mail_parser::Message<'a>, name: &HeaderName<'_>) -> Vec<&'a Parsed<'a>> {
    let list = |value: &'a HeaderValue<'a>| match value {
        HeaderValue::Address(list) => Some(list),
        _ => None,
    };
    let fields = message.headers().iter().filter(|field| field.name == *name);
    fields.filter_map(|field| list(&field.value)).collect()
}

/// Returns the addresses of a field. Invalid ones are an error: if they were ignored, their mail would be lost
/// silently.
fn addresses(list: Option<&Parsed<'_>>) -> Result<Vec<String>, Reason> {
    let mut found = Vec::new();
    for one in list.into_iter().flat_map(Parsed::iter) {
        let Some(address) = one.address().or_else(|| one.name()) else { continue };
        let checked = Address::parse(address).map_err(|error| Reason::Address(error.to_string()))?;
        found.push(checked.as_str().to_owned());
    }
    Ok(found)
}

/// Skips what some programs write before the header: a byte-order mark, or the first line of an mbox.
pub(super) fn skip_preamble(file: &[u8]) -> &[u8] {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mbox_line =
        file.split_inclusive(|&byte| byte == b'\n').next().filter(|line| line.starts_with(b"From "));
    &file[mbox_line.map_or(0, <[u8]>::len)..]
}

/// Returns the position after the empty line that ends the header; `None` if there is none.
pub(super) fn header_end(file: &[u8]) -> Option<usize> {
    lines(file).1
}

/// Returns the lines of the header, and the position of the body. A line ends in LF, in any number of CRs and an LF, or
/// in a single CR, so that all parsers of the file agree on its lines. A single CR does not end the header, unless the
/// file has no LF at all: the text after it would be sent as the body, and could name blind recipients.
fn lines(file: &[u8]) -> (Vec<&[u8]>, Option<usize>) {
    let only_cr = !file.contains(&b'\n');
    let (mut lines, mut at) = (Vec::new(), 0);
    while at < file.len() {
        let length = file[at..].iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        let stop = length.map_or(file.len(), |length| at + length);
        let cr_count = file[stop..].iter().take_while(|byte| **byte == b'\r').count();
        let has_lf = file.get(stop + cr_count) == Some(&b'\n');
        let next = if has_lf { stop + cr_count + 1 } else { (stop + 1).min(file.len()) };
        if stop > at {
            lines.push(&file[at..stop]);
        } else if has_lf || only_cr {
            return (lines, Some(next));
        }
        at = next;
    }
    (lines, None)
}

/// A message split into header and body. The recipients and the header that is sent are read from the same lines.
pub(super) struct SplitMessage<'a> {
    /// All header fields.
    pub header: Vec<u8>,
    /// The header fields that are sent.
    visible: Vec<u8>,
    /// Name of a field for blind recipients that the address parser does not recognise.
    pub unsupported_bcc: Option<String>,
    /// The bytes after the header's empty line; `None` if there is no such line.
    body: Option<&'a [u8]>,
}

impl<'a> SplitMessage<'a> {
    pub(super) fn split(file: &'a [u8]) -> Self {
        let (lines, end) = lines(file);
        let (mut header, mut visible, mut hidden) = (Vec::new(), Vec::new(), false);
        let mut unsupported_bcc = None;
        for line in lines {
            let folded = line.starts_with(b" ") || line.starts_with(b"\t");
            let line = match (folded && !header.is_empty(), line.trim_ascii()) {
                // Some parsers treat a line of blanks as the end of the header.
                (_, []) => continue,
                (true, _) => line.to_vec(),
                // A list of blind recipients that its writer did not fold.
                (false, line) if hidden && !begins_field(line) => [b" ", line].concat(),
                (false, line) => {
                    hidden = is_blind(line);
                    let line = field(line);
                    if hidden && !(is_bcc(&line) && line.contains(&b':')) {
                        let name = field_name(&line);
                        unsupported_bcc = Some(String::from_utf8_lossy(name).escape_debug().to_string());
                    }
                    line
                }
            };
            let parts: &mut [&mut Vec<u8>] =
                if hidden { &mut [&mut header] } else { &mut [&mut header, &mut visible] };
            for part in parts {
                part.extend_from_slice(&line);
                part.extend_from_slice(b"\r\n");
            }
        }
        Self { header, visible, unsupported_bcc, body: end.map(|end| &file[end..]) }
    }

    /// Returns the message with CR LF line endings, and without the header fields that name blind recipients.
    pub(super) fn without_bcc(self) -> Vec<u8> {
        let mut message = self.visible;
        let Some(body) = self.body else { return message };
        message.reserve(2 + body.len() + body.len() / 32);
        message.extend_from_slice(b"\r\n");
        let mut ends = LineEnds::default();
        ends.push(body, &mut message);
        ends.finish(&mut message);
        message
    }

    /// Adds a header field to the message that is sent.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        self.visible.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
}

/// Whether a line can be the first of a field. The characters that no field name contains, but lists of addresses do,
/// are not accepted before the colon.
fn begins_field(line: &[u8]) -> bool {
    if is_blind(line) {
        return true;
    }
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return false };
    let name = line[..colon].trim_ascii_end();
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_graphic() && !b"@<>\",;()".contains(byte))
}

/// Removes the blanks that old programs write before the colon of a field.
fn field(line: &[u8]) -> Vec<u8> {
    match line.iter().position(|byte| *byte == b':') {
        Some(colon) => [line[..colon].trim_ascii_end(), &line[colon..]].concat(),
        None => line.to_vec(),
    }
}

fn is_bcc(field: &[u8]) -> bool {
    field.split(|&byte| byte == b':').next().is_some_and(|name| name.eq_ignore_ascii_case(b"bcc"))
}

/// Whether the field names blind recipients, ignoring invisible characters in its name.
fn is_blind(line: &[u8]) -> bool {
    let name: Vec<u8> = field_name(line).iter().copied().filter(u8::is_ascii_graphic).collect();
    [&b"bcc"[..], b"resent-bcc"].iter().any(|blind| name.eq_ignore_ascii_case(blind))
}

/// Returns what precedes the colon; of a line without one, the first word.
fn field_name(line: &[u8]) -> &[u8] {
    let ends_name = |byte: &u8| *byte == b':' || (byte.is_ascii_whitespace() && !line.contains(&b':'));
    line.split(ends_name).next().unwrap_or_default()
}
