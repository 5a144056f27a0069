use bytes::Bytes;

use super::*;

fn mail(to: &str, message: &'static [u8]) -> Mail {
    Mail {
        from: "a@x.test".to_owned(),
        to: vec![to.to_owned()],
        message: Bytes::from_static(message),
        rest: None,
        message_id: String::new(),
        utf8: false,
        settled: Vec::new(),
        metadata: Vec::new(),
    }
}

fn stuff(message: &[u8]) -> String {
    let mut text = dot_stuffed(message).collect::<Vec<_>>().concat();
    text.extend_from_slice(text_end(message));
    String::from_utf8(text).unwrap()
}

#[test]
fn only_dots_that_begin_a_line_are_doubled() {
    assert_eq!(stuff(b"a.b\r\nc."), "a.b\r\nc.\r\n.\r\n");
    assert_eq!(stuff(b".a\r\n..b\r\n.\r\n"), "..a\r\n...b\r\n..\r\n.\r\n");
    assert_eq!(stuff(b"."), "..\r\n.\r\n");
    assert_eq!(stuff(b""), ".\r\n");
    assert_eq!(stuff(b"\r\n.\r\n.\r\n"), "\r\n..\r\n..\r\n.\r\n");
}

#[test]
fn lone_line_ends_are_refused() {
    for message in [&b"a\nb"[..], b"\na", b"a\r", b"a\rb\r\n", b"a\r\r\n", b"a\r\n\n.\n"] {
        assert!(check_line_ends(message).is_err(), "{message:?}");
    }
    for message in [&b""[..], b"a", b"a\r\n", b"\r\n\r\na"] {
        assert!(check_line_ends(message).is_ok(), "{message:?}");
    }
}

#[test]
fn addresses_cannot_leave_their_brackets() {
    for address in ["", "a b@x", "a>@x", "<a@x", "a\r\n@x", "a\0@x", "a\t@x", "a@x\u{7f}"] {
        assert!(check_mail(&mail(address, b""), &Extensions::default(), 100).is_err(), "{address:?}");
    }
    assert!(check_mail(&mail(&"a".repeat(600), b""), &Extensions::default(), 100).is_err());
}

#[test]
fn the_smaller_of_both_size_limits_holds() {
    let of = |max_size, own| {
        check_mail(&mail("b@y", b"12345"), &Extensions { max_size, ..Extensions::default() }, own).is_ok()
    };
    assert!(of(None, 5) && of(Some(5), 100));
    assert!(!of(None, 4) && !of(Some(4), 100) && !of(Some(100), 4));
}

#[test]
fn a_local_part_needs_smtputf8_and_a_domain_only_its_a_label() {
    let utf8 = Extensions { utf8: true, ..Extensions::default() };
    let foreign = mail("jörg@y.test", b"");
    assert!(check_mail(&foreign, &Extensions::default(), 100).unwrap_err().contains("SMTPUTF8"));
    assert!(check_mail(&foreign, &utf8, 100).unwrap().utf8, "even if the composer forgot to say so");
    let required = check_mail(&mail("b@bücher.test", b""), &Extensions::default(), 100).unwrap();
    let mut out = Vec::new();
    rcpt_to(&mut out, "b@bücher.test", required);
    assert_eq!(out, b"RCPT TO:<b@xn--bcher-kva.test>\r\n");
}

#[test]
fn parameters_go_only_to_relays_that_know_them() {
    let required = RequiredExtensions { utf8: false, eight_bit: true };
    let of = |extensions: &Extensions| {
        let mut out = Vec::new();
        mail_from(&mut out, &mail("b@y", b"12345"), required, extensions);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(of(&Extensions::default()), "MAIL FROM:<a@x.test>\r\n");
    let all = Extensions { size: true, eight_bit: true, ..Extensions::default() };
    assert_eq!(of(&all), "MAIL FROM:<a@x.test> SIZE=5 BODY=8BITMIME\r\n");
}

#[test]
fn e08_pieces_are_stuffed_as_the_whole_is_wherever_they_are_cut() {
    let message = b".a\r\n..b\r\n.\r\nc.d\r\n\r\n.";
    for first in 0..=message.len() {
        for second in first..=message.len() {
            let mut dot_stuffer = DotStuffer::default();
            let pieces = [&message[..first], &message[first..second], &message[second..]];
            let mut text: Vec<u8> = Vec::new();
            for piece in pieces {
                text.extend(dot_stuffer.dot_stuffed(piece).flatten());
            }
            let whole: Vec<u8> = dot_stuffed(message).flatten().copied().collect();
            assert_eq!(text, whole, "cut at {first} and {second}");
        }
    }
}
