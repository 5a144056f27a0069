use super::*;

#[test]
fn an_object_of_names_and_values() {
    let headers = parse(r#"{"X-A":"one","X-B":["two","three"],"X-C":null,"X-D":4}"#).unwrap();
    let pairs: Vec<_> = headers.iter().map(|header| (header.name(), header.value())).collect();
    assert_eq!(pairs, [("X-A", "one"), ("X-B", "two"), ("X-B", "three"), ("X-D", "4")]);
}

#[test]
fn reserved_headers_are_rejected_by_name() {
    let ours = [
        "From",
        "to",
        "CC",
        "Bcc",
        "Reply-To",
        "Subject",
        "Date",
        "Message-ID",
        "DKIM-Signature",
        "MIME-Version",
        "Content-Type",
        "content-anything",
        "Return-Path",
        "Received",
        "Resent-To",
        "ARC-Seal",
    ];
    for name in ours {
        assert!(matches!(CustomHeader::new(name, "x"), Err(Error::Reserved { .. })), "{name}");
    }
    let error = CustomHeader::new("Bcc", "x@example.org").unwrap_err().to_string();
    assert_eq!(error, "header Bcc can't be set here: it has a message field of its own");
}

#[test]
fn names_are_plain_tokens() {
    for name in ["", "X Y", "X:", "X\r\nBcc", "Ü", "X\0", &"x".repeat(77)] {
        assert!(matches!(CustomHeader::new(name, "x"), Err(Error::Name(_))), "{name:?}");
    }
}

#[test]
fn m08_values_with_line_breaks_are_refused() {
    for value in ["a\r\nBcc: b@example.org", "a\n b", "a\r", "\0", "a\u{b}"] {
        assert_eq!(CustomHeader::new("X-A", value), Err(Error::Control("X-A".into())), "{value:?}");
    }
}

#[test]
fn values_that_cannot_be_folded_or_are_too_long_are_refused() {
    assert_eq!(CustomHeader::new("X-A", &"x".repeat(901)), Err(Error::Run("X-A".into())));
    assert!(CustomHeader::new("X-A", &"ü".repeat(901)).is_ok(), "encoded words can be folded anywhere");
    assert_eq!(CustomHeader::new("X-A", &"x ".repeat(9000)), Err(Error::Long("X-A".into())));
}

#[test]
fn invalid_json_is_reported() {
    assert!(matches!(parse("{"), Err(Error::Json(_))));
    assert!(matches!(parse("[]"), Err(Error::Json(_))));
    assert!(matches!(parse(r#"{"X-A":{}}"#), Err(Error::Value(_))));
    assert!(matches!(parse(r#"{"X-A":[1]}"#), Err(Error::Value(_))));
    assert!(matches!(parse(r#"{"Bcc":true}"#), Err(Error::Reserved { .. })));
}
