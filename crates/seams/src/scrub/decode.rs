//! Undoes the escapes in which a text may repeat a secret: JSON (`\/`, `\u002B`), percent (`%2F`) and HTML (`&#43;`).
//!
//! Every encoder escapes other characters, in upper or lower case, so the text is decoded instead of listing the forms
//! of each secret. Pure. Invariant: a view is never longer than its text, and knows where each of its bytes came from.

use std::ops::Range;

/// The longest escape in bytes: two `\uXXXX` for one character.
const LONGEST: usize = 12;

/// A text without its escapes.
pub struct View {
    pub bytes: Vec<u8>,
    /// Pairs of places, here and in the text; the bytes up to the next pair are the same in both.
    places: Vec<(usize, usize)>,
}

impl View {
    /// Decodes one level of escapes; `None` if there are none.
    pub fn decode(text: &[u8]) -> Option<Self> {
        let mut view = Self { bytes: Vec::new(), places: vec![(0, 0)] };
        let (mut from, mut at) = (0, 0);
        while let Some(next) = text[at..].iter().position(|byte| b"\\%&".contains(byte)) {
            at += next;
            let Some((character, length)) = escape(&text[at..]) else {
                at += 1;
                continue;
            };
            view.bytes.extend_from_slice(&text[from..at]);
            view.places.push((view.bytes.len(), at));
            view.bytes.extend_from_slice(&character);
            at += length;
            view.places.push((view.bytes.len(), at));
            from = at;
        }
        (from > 0).then(|| {
            view.bytes.extend_from_slice(&text[from..]);
            view
        })
    }

    /// Returns the range of the text that was decoded to this range.
    pub fn origin(&self, range: &Range<usize>) -> Range<usize> {
        let origin = |at: usize| {
            let next = self.places.partition_point(|(here, _)| *here <= at);
            let (here, there) = self.places[next.saturating_sub(1)];
            there + (at - here)
        };
        origin(range.start)..origin(range.end)
    }
}

/// Returns the end of a text, or of the part before the ellipsis of a shortened one.
pub fn end(text: &[u8]) -> usize {
    text.windows(3).position(|bytes| bytes == "…".as_bytes()).unwrap_or(text.len())
}

/// Returns what the escape at the beginning of the text stands for, and its length. An escape that was cut off at the
/// end of the text stands for nothing.
fn escape(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let text = &text[..text.len().min(LONGEST)];
    let found = match text[0] {
        b'\\' => json(text),
        b'%' => hex(text, 1, 2).map(|code| (vec![u8::try_from(code).unwrap_or(b'%')], 3)),
        _ => html(text),
    };
    let end = end(text);
    let is_cut = || end < LONGEST && is_cut(&text[..end]);
    found.or_else(|| is_cut().then(|| (Vec::new(), end)))
}

/// Whether this is the beginning of an escape, with nothing behind it.
fn is_cut(text: &[u8]) -> bool {
    match text {
        // The first half of a pair.
        [b'\\', b'u', b'd' | b'D', b'8'..=b'9' | b'a'..=b'b' | b'A'..=b'B', _, _, rest @ ..] => {
            rest.is_empty() || is_cut(rest)
        }
        [b'\\', b'u', digits @ ..] => digits.len() < 4 && digits.iter().all(u8::is_ascii_hexdigit),
        [b'\\'] => true,
        [b'%', digits @ ..] => digits.len() < 2 && digits.iter().all(u8::is_ascii_hexdigit),
        [b'&', name @ ..] => {
            name.len() < 7 && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'#')
        }
        _ => false,
    }
}

fn json(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let one = |byte: u8| Some((vec![byte], 2));
    match text.get(1)? {
        byte @ (b'"' | b'\\' | b'/') => one(*byte),
        b'b' => one(8),
        b'f' => one(12),
        b'n' => one(b'\n'),
        b'r' => one(b'\r'),
        b't' => one(b'\t'),
        b'u' => {
            let unit = |at: usize| hex(text, at, 4).and_then(|code| u16::try_from(code).ok());
            let first = unit(2)?;
            let second = text.get(6..8).filter(|next| next == b"\\u").and_then(|_| unit(8));
            let pair: Vec<u16> = [first].into_iter().chain(second).collect();
            let character = char::decode_utf16(pair).next()?.ok()?;
            Some((utf8(character), 6 * character.len_utf16()))
        }
        _ => None,
    }
}

fn html(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let end = text.iter().position(|byte| *byte == b';')?;
    let character = match &text[1..end] {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(hex(digits, 0, digits.len())?)?,
        [b'#', digits @ ..] => char::from_u32(std::str::from_utf8(digits).ok()?.parse().ok()?)?,
        _ => return None,
    };
    Some((utf8(character), end + 1))
}

fn hex(text: &[u8], at: usize, digits: usize) -> Option<u32> {
    let digits = text.get(at..at + digits).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn utf8(character: char) -> Vec<u8> {
    character.to_string().into_bytes()
}
