//! Cost of regular expressions: a fixed part, and a part for each 64 bytes of the text.

/// The fixed cost, and the cost per 64 bytes of text.
pub type PatternCost = (u64, u64);

/// Returns the cost of one match. A pattern that needs backtracking may take long even for a short text.
pub fn pattern_cost(pattern: &str) -> PatternCost {
    if backtracks(pattern) { (500, 50) } else { (1, 1) }
}

/// Adds two costs; the result saturates instead of overflowing.
pub fn plus((fixed, texts): PatternCost, (more, more_texts): PatternCost) -> PatternCost {
    (fixed.saturating_add(more), texts.saturating_add(more_texts))
}

/// Returns the cost for this text.
pub fn on_text((fixed, texts): PatternCost, text: &str) -> u64 {
    fixed.saturating_add(texts.saturating_mul(1 + text.len() as u64 / 64))
}

/// Whether the pattern needs backtracking: look-around, atomic groups or back-references.
fn backtracks(pattern: &str) -> bool {
    let digit_after_backslash = || {
        pattern.as_bytes().windows(2).any(|pair| pair[0] == b'\\' && matches!(pair[1], b'1'..=b'9' | b'k'))
    };
    ["(?=", "(?!", "(?<=", "(?<!", "(?>"].iter().any(|mark| pattern.contains(mark)) || digit_after_backslash()
}
