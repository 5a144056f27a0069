//! Parses a relay's replies line by line from a bounded buffer, without allocating for positive ones.
//!
//! Invariant: no more than [`MAX_REPLY`] bytes of an unfinished reply are kept.

use std::fmt::Write;

#[cfg(test)]
mod tests;

/// Maximum bytes of a reply. RFC 5321 has 512 per line; real relays send long explanations over many lines.
const MAX_REPLY: usize = 64 * 1024;
/// Maximum bytes of a reply's text that are kept.
const MAX_TEXT: usize = 400;

/// An enhanced status code such as `5.1.1` (RFC 3463).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EnhancedCode(pub u8, pub u16, pub u16);

/// One complete reply, borrowed from the buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reply<'a> {
    pub code: u16,
    pub enhanced: Option<EnhancedCode>,
    lines: &'a [u8],
}

/// The reason why the bytes are not SMTP.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidReply {
    #[error("a reply longer than 64 KiB")]
    TooLong,
    #[error("something that is not an SMTP reply: {0:?}")]
    NotSmtp(String),
}

/// Bytes that were received but not yet parsed as replies.
#[derive(Debug, Default)]
pub(crate) struct ReplyBuffer {
    bytes: Vec<u8>,
    read: usize,
}

impl ReplyBuffer {
    /// Returns the buffer that the next bytes from the network are appended to.
    pub(crate) fn space(&mut self) -> &mut Vec<u8> {
        if self.read > 0 {
            self.bytes.drain(..self.read);
            self.read = 0;
        }
        self.bytes.reserve(4096);
        &mut self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.read == self.bytes.len()
    }

    /// Returns the length of the next complete reply, or `None` if more bytes are needed.
    pub(crate) fn complete_length(&self) -> Result<Option<usize>, InvalidReply> {
        let unread = &self.bytes[self.read..];
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', unread) {
            let line = trim(&unread[start..end]);
            if !is_reply_line(line) || line[..3] != unread[..3] {
                return Err(InvalidReply::NotSmtp(readable(line, 60)));
            }
            start = end + 1;
            if line.get(3) != Some(&b'-') {
                return Ok(Some(start));
            }
        }
        let unfinished = &unread[start..];
        if unread.len() > MAX_REPLY {
            return Err(InvalidReply::TooLong);
        }
        // Detect an HTTP or SSH server even if it sends no line end.
        if unfinished.iter().take(3).any(|byte| !byte.is_ascii_digit()) {
            return Err(InvalidReply::NotSmtp(readable(unfinished, 60)));
        }
        Ok(None)
    }

    /// Removes and returns the reply of `length` bytes that [`ReplyBuffer::complete_length`] found.
    pub(crate) fn take(&mut self, length: usize) -> Reply<'_> {
        let start = self.read;
        self.read += length;
        Reply::new(&self.bytes[start..start + length])
    }
}

impl<'a> Reply<'a> {
    fn new(lines: &'a [u8]) -> Self {
        let code = lines[..3].iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
        let text = lines.get(4..).unwrap_or_default();
        Self { code, enhanced: enhanced(text).map(|(enhanced, _)| enhanced), lines }
    }

    pub(crate) fn is(&self, class: u16) -> bool {
        self.code / 100 == class
    }

    /// Returns the text of each line, without its code.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.lines.split(|byte| *byte == b'\n').map(trim).filter(|line| line.len() > 4).map(|line| &line[4..])
    }

    /// Returns the reply on one line, shortened, without control characters: `550 5.1.1 No such user`.
    pub(crate) fn text(&self) -> String {
        let mut all = String::with_capacity(64);
        let _ = write!(all, "{}", self.code);
        for (index, text) in self.texts().enumerate() {
            // The enhanced code is on every line; keep the first.
            let skip = if index == 0 { 0 } else { enhanced(text).map_or(0, |(_, length)| length) };
            all.push(' ');
            all.push_str(readable(&text[skip..], MAX_TEXT).trim());
            if all.len() > MAX_TEXT {
                break;
            }
        }
        shorten(all, MAX_TEXT)
    }

    /// Returns the relay's queue id of a mail, in the formats of Postfix, Exim and the large providers.
    pub(crate) fn queue_id(&self) -> Option<String> {
        let text = self.texts().last()?;
        let text = std::str::from_utf8(text).ok()?;
        let after = |mark: &str| text.find(mark).map(|at| &text[at + mark.len()..]);
        let rest = after("queued as ")
            .or_else(|| after("id="))
            .or_else(|| after("Ok ").filter(|id| id.len() >= 16))?;
        let id = rest.split(|c: char| c.is_whitespace() || c == ';' || c == ',').next()?;
        let id = id.trim_matches(|c: char| "<>()\"'.".contains(c));
        (!id.is_empty() && id.len() <= 200 && id.bytes().all(|byte| byte.is_ascii_graphic()))
            .then(|| id.to_owned())
    }
}

fn is_reply_line(line: &[u8]) -> bool {
    line.len() >= 3
        && matches!(line[0], b'1'..=b'5')
        && line[1].is_ascii_digit()
        && line[2].is_ascii_digit()
        && matches!(line.get(3), None | Some(b' ' | b'-'))
}

fn trim(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns the enhanced code at the start of a text, and its length.
fn enhanced(text: &[u8]) -> Option<(EnhancedCode, usize)> {
    let length = text.iter().position(|byte| !(byte.is_ascii_digit() || *byte == b'.')).unwrap_or(text.len());
    let mut parts = std::str::from_utf8(&text[..length]).ok()?.split('.');
    let class = parts.next()?.parse().ok().filter(|class| matches!(class, 2 | 4 | 5))?;
    let found = EnhancedCode(class, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some((found, length))
}

/// Converts received bytes to readable text: no control characters, at most `limit` characters.
fn readable(bytes: &[u8], limit: usize) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * limit)]);
    let text = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    shorten(text, limit)
}

/// Cuts a text to at most `limit` bytes, between characters.
pub(crate) fn shorten(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit));
        text.push('…');
    }
    text
}
