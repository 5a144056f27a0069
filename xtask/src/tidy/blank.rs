//! Separates code from literals in Rust text: blanks out comments, strings and characters, so that only code is left on
//! the same lines; or returns the strings alone.
//!
//! Invariant: the number of lines does not change, so that the line of a finding is the line in the file.

use std::ops::{Range, RangeInclusive};

/// Replaces every character of a comment or literal by a space; line breaks stay.
pub fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let length = literal_or_comment(&chars[at..], at.checked_sub(1).map(|before| chars[before]));
        if length == 0 {
            code.push(chars[at]);
            at += 1;
        } else {
            code.extend(chars[at..at + length].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
            at += length;
        }
    }
    code
}

/// Blanks out comments and literals, and also the items marked `#[cfg(test)]`.
pub fn product_code_only(text: &str) -> String {
    let mut code = code_only(text);
    let mut from = 0;
    while let Some(item) = test_item(&code, from) {
        let blank: String = code[item.clone()].chars().filter(|&c| c == '\n').collect();
        from = item.start;
        code.replace_range(item, &blank);
    }
    code
}

/// The lines of string literals outside items marked `#[cfg(test)]`, each with its number.
pub fn product_strings(text: &str) -> Vec<(usize, String)> {
    let tests = test_lines(&code_only(text));
    let chars: Vec<char> = text.chars().collect();
    let (mut strings, mut line, mut at) = (Vec::new(), 1, 0);
    while at < chars.len() {
        let length = literal_or_comment(&chars[at..], at.checked_sub(1).map(|before| chars[before])).max(1);
        let piece: String = chars[at..at + length].iter().collect();
        let is_string = length > 1 && piece.starts_with(['"', 'r']);
        if is_string && !tests.iter().any(|lines| lines.contains(&line)) {
            strings.extend(piece.lines().enumerate().map(|(below, text)| (line + below, text.to_owned())));
        }
        line += piece.chars().filter(|&c| c == '\n').count();
        at += length;
    }
    strings
}

/// The lines of the items marked `#[cfg(test)]`.
fn test_lines(code: &str) -> Vec<RangeInclusive<usize>> {
    let line = |at: usize| code[..at].chars().filter(|&c| c == '\n').count() + 1;
    let items = std::iter::successors(test_item(code, 0), |item| test_item(code, item.end));
    items.map(|item| line(item.start)..=line(item.end)).collect()
}

/// The first item after `from` that is marked `#[cfg(test)]`.
fn test_item(code: &str, from: usize) -> Option<Range<usize>> {
    const MARK: &str = "#[cfg(test)]";
    let start = from + code[from..].find(MARK)?;
    Some(start..end_of_item(code, start + MARK.len()))
}

/// The end of the item that starts here: its `;`, or the brace that closes its first one.
fn end_of_item(code: &str, from: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, c) in code[from..].char_indices() {
        match c {
            ';' if depth == 0 => return from + offset + 1,
            '{' => depth += 1,
            '}' if depth <= 1 => return from + offset + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// The length of the comment or literal that starts here, or 0.
fn literal_or_comment(chars: &[char], before: Option<char>) -> usize {
    match chars {
        ['/', '/', ..] => chars.iter().position(|&c| c == '\n').unwrap_or(chars.len()),
        ['/', '*', ..] => block_comment(chars),
        ['"', ..] => quoted(chars, '"'),
        ['r', '"' | '#', ..] if !before.is_some_and(|c| is_word(c) && !matches!(c, 'b' | 'c')) => {
            raw_string(chars)
        }
        ['\'', '\\', ..] => quoted(chars, '\''),
        ['\'', _, '\'', ..] => 3,
        _ => 0,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn block_comment(chars: &[char]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < chars.len() {
        match chars[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] if depth == 1 => return at + 2,
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    chars.len()
}

fn quoted(chars: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// The length of a raw string (`r"…"`, `r#"…"#`); 0 for a raw identifier such as `r#type`.
fn raw_string(chars: &[char]) -> usize {
    let hashes = chars[1..].iter().take_while(|&&c| c == '#').count();
    if chars.get(1 + hashes) != Some(&'"') {
        return 0;
    }
    let closes = |at: usize| {
        chars[at] == '"'
            && chars.len() >= at + 1 + hashes
            && chars[at + 1..=at + hashes].iter().all(|&c| c == '#')
    };
    (2 + hashes..chars.len()).find(|&at| closes(at)).map_or(chars.len(), |at| at + 1 + hashes)
}
