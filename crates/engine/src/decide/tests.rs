use super::{REASON_LIMIT, compact};

#[test]
fn g7_reasons_are_one_line_without_control_characters() {
    assert_eq!(compact("  550 5.1.1\r\n no\tsuch\u{0} user \u{7}"), "550 5.1.1 no such user");
    assert_eq!(compact(""), "");
}

#[test]
fn g7_reasons_are_cut_at_a_character() {
    let long = compact(&"ä".repeat(2 * REASON_LIMIT));
    assert!(long.len() <= REASON_LIMIT + '…'.len_utf8(), "{} bytes", long.len());
    assert!(long.ends_with('…'));
    let words = compact(&"word ".repeat(REASON_LIMIT));
    assert!(words.len() <= REASON_LIMIT + '…'.len_utf8());
    assert!(words.starts_with("word word"));
}
