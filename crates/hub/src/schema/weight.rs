//! The work of regular expressions: a fixed part, and a part for each 64 bytes of the text.

pub type Weight = (u64, u64);

/// Of one comparison. A pattern that needs backtracking may take long for a short text.
pub fn weight(pattern: &str) -> Weight {
    if backtracks(pattern) { (500, 50) } else { (1, 1) }
}

pub fn plus((fixed, texts): Weight, (more, more_texts): Weight) -> Weight {
    (fixed.saturating_add(more), texts.saturating_add(more_texts))
}

/// The work for a text.
pub fn on_text((fixed, texts): Weight, text: &str) -> u64 {
    fixed.saturating_add(texts.saturating_mul(1 + text.len() as u64 / 64))
}

/// Does it need more than an automaton: look-around, or a reference to a group?
fn backtracks(pattern: &str) -> bool {
    let digit_after_backslash = || {
        pattern.as_bytes().windows(2).any(|pair| pair[0] == b'\\' && matches!(pair[1], b'1'..=b'9' | b'k'))
    };
    ["(?=", "(?!", "(?<=", "(?<!", "(?>"].iter().any(|mark| pattern.contains(mark)) || digit_after_backslash()
}
