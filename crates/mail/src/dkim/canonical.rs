//! The "relaxed" canonicalisation of headers and bodies (RFC 6376).

use ring::digest::{Context, Digest, SHA256};

/// A header as it is in the message, with its folds, without its last line ending.
pub struct Header<'a> {
    name: String,
    raw: &'a [u8],
}

/// Splits a message into the header section, with its last line ending, and the body after the empty line.
pub fn split(message: &[u8]) -> (&[u8], &[u8]) {
    match message.windows(4).position(|window| window == b"\r\n\r\n") {
        Some(at) => (&message[..at + 2], &message[at + 4..]),
        None => (message, &[]),
    }
}

/// Returns the headers, from the top.
pub fn headers(head: &[u8]) -> Vec<Header<'_>> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut start = 0;
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        let end = start + line.len();
        match (line.first(), found.last_mut()) {
            (Some(b' ' | b'\t'), Some(last)) => last.1 = end,
            _ => found.push((start, end)),
        }
        start = end;
    }
    let header = |(start, end): (usize, usize)| {
        let raw = &head[start..end];
        let name = raw.split(|&byte| byte == b':').next().unwrap_or_default();
        Header { name: String::from_utf8_lossy(name).trim().to_ascii_lowercase(), raw }
    };
    found.into_iter().map(header).collect()
}

/// Returns the names for `h=`, and the canonical form of those headers. Of a repeated header, the lowest comes first.
pub fn select<'n>(headers: &[Header<'_>], wanted: &[&'n str]) -> (Vec<&'n str>, Vec<u8>) {
    let (mut names, mut data) = (Vec::with_capacity(wanted.len() + 1), Vec::with_capacity(1024));
    for &name in wanted {
        for header in headers.iter().rev().filter(|header| header.name == name) {
            push_header(&mut data, header.raw);
            names.push(name);
        }
        if name == "from" {
            names.push(name);
        }
    }
    (names, data)
}

/// Appends a header in canonical form: lower-case name, unfolded value, white space collapsed and trimmed, CRLF.
pub fn push_header(data: &mut Vec<u8>, raw: &[u8]) {
    let colon = raw.iter().position(|&byte| byte == b':').unwrap_or(raw.len());
    data.extend(raw[..colon].trim_ascii().iter().map(u8::to_ascii_lowercase));
    data.push(b':');
    let value = raw.get(colon + 1..).unwrap_or_default();
    let words =
        value.split(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).filter(|word| !word.is_empty());
    for (index, word) in words.enumerate() {
        if index > 0 {
            data.push(b' ');
        }
        data.extend_from_slice(word);
    }
    data.extend_from_slice(b"\r\n");
}

/// Hashes the relaxed body: white space collapsed, none at the end of a line, no empty lines at the end.
pub fn body_hash(body: &[u8]) -> Digest {
    const BLOCK: usize = 16 * 1024;
    let mut context = Context::new(&SHA256);
    let mut block = Vec::with_capacity(body.len().min(BLOCK) + 1024);
    let mut empty = 0_usize;
    let body = body.strip_suffix(b"\r\n").unwrap_or(body);
    for line in body.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = &line[..line.iter().rposition(|byte| !is_space(*byte)).map_or(0, |last| last + 1)];
        if line.is_empty() {
            empty += 1;
            continue;
        }
        for _ in 0..std::mem::take(&mut empty) {
            block.extend_from_slice(b"\r\n");
        }
        push_line(&mut block, line);
        if block.len() >= BLOCK {
            context.update(&block);
            block.clear();
        }
    }
    context.update(&block);
    context.finish()
}

fn push_line(block: &mut Vec<u8>, line: &[u8]) {
    let mut spaced = false;
    for &byte in line {
        let space = is_space(byte);
        match (space, spaced) {
            (true, false) => block.push(b' '),
            (true, true) => {}
            (false, _) => block.push(byte),
        }
        spaced = space;
    }
    block.extend_from_slice(b"\r\n");
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
