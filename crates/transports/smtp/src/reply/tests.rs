use super::*;

fn buffer(bytes: &[u8]) -> ReplyBuffer {
    let mut buffer = ReplyBuffer::default();
    buffer.space().extend_from_slice(bytes);
    buffer
}

fn reply(bytes: &[u8]) -> (u16, Option<EnhancedCode>, String) {
    let mut buffer = buffer(bytes);
    let length = buffer.complete_length().unwrap().expect("a whole reply");
    assert_eq!(length, bytes.len());
    let reply = buffer.take(length);
    (reply.code, reply.enhanced, reply.text())
}

#[test]
fn a_reply_has_a_code_an_enhanced_code_and_text() {
    let words = |text: &str| text.to_owned();
    assert_eq!(reply(b"250 2.1.0 Ok\r\n"), (250, Some(EnhancedCode(2, 1, 0)), words("250 2.1.0 Ok")));
    assert_eq!(reply(b"250\r\n"), (250, None, words("250")));
    assert_eq!(reply(b"550 5.7.1\n"), (550, Some(EnhancedCode(5, 7, 1)), words("550 5.7.1")));
    assert_eq!(reply(b"550 3.14 is pi\r\n"), (550, None, words("550 3.14 is pi")));
    assert_eq!(reply(b"250 1.2.3.4 hello\r\n"), (250, None, words("250 1.2.3.4 hello")));
    let many = b"451-4.3.0 one\r\n451-4.3.0 two\r\n451 4.3.0 three\r\n";
    assert_eq!(reply(many), (451, Some(EnhancedCode(4, 3, 0)), words("451 4.3.0 one two three")));
}

#[test]
fn an_unfinished_reply_waits_for_more() {
    for part in [&b""[..], b"2", b"250", b"250 ok", b"250-ok\r\n", b"250-ok\r\n25"] {
        assert_eq!(buffer(part).complete_length(), Ok(None), "{part:?}");
    }
}

#[test]
fn replies_are_parsed_one_by_one() {
    let mut buffer = buffer(b"250 a\r\n354 b\r\n22");
    for code in [250, 354] {
        let length = buffer.complete_length().unwrap().unwrap();
        assert_eq!(buffer.take(length).code, code);
    }
    assert_eq!(buffer.complete_length(), Ok(None));
    assert!(!buffer.is_empty());
    buffer.space().extend_from_slice(b"1 bye\r\n");
    let length = buffer.complete_length().unwrap().unwrap();
    assert_eq!(buffer.take(length).code, 221);
    assert!(buffer.is_empty());
}

#[test]
fn text_that_is_not_a_reply_is_not_smtp() {
    for garbage in
        [&b"hello\r\n"[..], b"SSH", b"25 ok\r\n", b"650 x\r\n", b"250x\r\n", b"250-a\r\n251 b\r\n", b"\r\n"]
    {
        assert!(matches!(buffer(garbage).complete_length(), Err(InvalidReply::NotSmtp(_))), "{garbage:?}");
    }
}

#[test]
fn the_text_is_one_clean_short_line() {
    let mut bytes = b"550 bad\x00\x1b\xff\tthing ".to_vec();
    bytes.extend("ö".repeat(1000).bytes());
    bytes.extend(b"\r\n");
    let (_, _, words) = reply(&bytes);
    assert!(words.starts_with("550 bad  \u{fffd} thing ö"), "{words}");
    assert!(words.len() <= 410 && !words.chars().any(char::is_control));
}

#[test]
fn queue_ids_are_found_where_servers_put_them() {
    let id = |line: &str| {
        let line = format!("{line}\r\n");
        let mut buffer = buffer(line.as_bytes());
        let length = buffer.complete_length().unwrap().unwrap();
        buffer.take(length).queue_id()
    };
    assert_eq!(id("250 2.0.0 Ok: queued as 4B1D2C0F5A").as_deref(), Some("4B1D2C0F5A"));
    assert_eq!(id("250 OK id=1rAbCd-0001Xy-2Z").as_deref(), Some("1rAbCd-0001Xy-2Z"));
    assert_eq!(id("250 Ok 0102018f3c5e7d9a-1111").as_deref(), Some("0102018f3c5e7d9a-1111"));
    assert_eq!(id("250 Ok thanks"), None);
    assert_eq!(id("250 2.0.0 Ok: queued as "), None);
}
