use super::*;

fn mailbox(name: Option<&str>) -> ParsedMailbox {
    ParsedMailbox { name: name.map(str::to_owned), email: "a@example.com".to_owned() }
}

#[test]
fn names_are_quoted() {
    assert_eq!(format_mailbox(&mailbox(None)), "a@example.com");
    assert_eq!(
        format_mailbox(&mailbox(Some("O\"Hara, \\ Jörg\r\n"))),
        r#""O\"Hara, \\ Jörg" <a@example.com>"#
    );
}

#[test]
fn n08_a_key_is_stable_fits_a_header_and_tells_parts_apart() {
    let (one, two) =
        (RecipientGroup { to: vec![mailbox(None)], ..RecipientGroup::default() }, RecipientGroup::default());
    let of = |dedupe: &str, group: &RecipientGroup, groups| {
        idempotency_key(dedupe, "lane.7@example.org", group, groups)
    };
    assert!(of("event-7:42", &one, 1).starts_with("event-7:42/"));
    assert_eq!(of("event-7:42", &one, 2), of("event-7:42", &one, 2));
    assert_ne!(of("event-7:42", &one, 2), of("event-7:42", &two, 2));
    assert_ne!(of("event-7:42", &one, 1), idempotency_key("event-7:42", "other.7@example.org", &one, 1));
    for odd in ["", "two words", "ümlaut", &"x".repeat(181)] {
        let key = of(odd, &one, 2);
        assert!(key.len() <= 256 && key.bytes().all(|byte| byte.is_ascii_graphic()), "{key}");
    }
}

#[test]
fn tags_have_plain_characters() {
    assert_eq!(tag_text("a b/ü-1", 10), "a_b__-1");
    assert_eq!(tag_text("abc", 2), "ab");
}
