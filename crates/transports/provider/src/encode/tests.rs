use super::*;

fn mailbox(name: Option<&str>) -> Mailbox {
    Mailbox { name: name.map(str::to_owned), email: "a@example.com".to_owned() }
}

#[test]
fn names_are_quoted() {
    assert_eq!(written(&mailbox(None)), "a@example.com");
    assert_eq!(written(&mailbox(Some("O\"Hara, \\ Jörg\r\n"))), r#""O\"Hara, \\ Jörg" <a@example.com>"#);
}

#[test]
fn n8_a_key_is_stable_fits_a_header_and_tells_parts_apart() {
    let (one, two) = (Part { to: vec![mailbox(None)], ..Part::default() }, Part::default());
    assert_eq!(key("event-7:42", &one, 1), "event-7:42");
    assert_eq!(key("event-7:42", &one, 2), key("event-7:42", &one, 2));
    assert_ne!(key("event-7:42", &one, 2), key("event-7:42", &two, 2));
    for odd in ["", "two words", "ümlaut", &"x".repeat(181)] {
        let key = key(odd, &one, 2);
        assert!(key.len() <= 256 && key.bytes().all(|byte| byte.is_ascii_graphic()), "{key}");
    }
}

#[test]
fn tags_have_plain_characters() {
    assert_eq!(plain("a b/ü-1", 10), "a_b__-1");
    assert_eq!(plain("abc", 2), "ab");
}
