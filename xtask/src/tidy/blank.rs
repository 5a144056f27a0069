//! Blanks out comments, strings and characters in Rust text, so that only code is left, on the same lines.
//!
//! Invariant: the number of lines does not change, so that the line of a finding is the line in the file.

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
    const MARK: &str = "#[cfg(test)]";
    let mut code = code_only(text);
    let mut from = 0;
    while let Some(found) = code[from..].find(MARK) {
        let start = from + found;
        let end = end_of_item(&code, start + MARK.len());
        let blank: String = code[start..end].chars().filter(|&c| c == '\n').collect();
        code.replace_range(start..end, &blank);
        from = start;
    }
    code
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
