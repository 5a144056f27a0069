//! Structure, bodies, names and subjects survive a round trip through `mail-parser`.

use mail_parser::{MessageParser, MimeHeaders};
use postrider_mail::{Mailbox, MessageParts, address, attachment, header};
use proptest::prelude::*;

pub fn mailbox(text: &str) -> Mailbox {
    address::parse_mailbox(text).unwrap()
}

pub fn parts(from: &Mailbox) -> MessageParts<'_> {
    MessageParts {
        from,
        to: std::slice::from_ref(from),
        cc: &[],
        reply_to: &[],
        subject: Some("Hello"),
        text: Some("Hello.\n"),
        html: None,
        headers: &[],
        attachments: &[],
        message_id: "mails.1@example.org",
        date: 1_700_000_000,
    }
}

/// Asserts that every line ends in CRLF and keeps the limits of RFC 5322, and that nothing needs 8BITMIME.
pub fn assert_wire_form(message: &[u8]) {
    assert!(message.ends_with(b"\r\n"));
    let text = std::str::from_utf8(message).unwrap();
    assert!(text.is_ascii(), "8-bit data: {text}");
    assert!(!text.contains('\0'));
    for line in text.strip_suffix("\r\n").unwrap().split("\r\n") {
        assert!(!line.contains(['\r', '\n']), "a lone CR or LF in {line:?}");
        assert!(line.len() <= 998, "a line of {} bytes", line.len());
    }
}

#[test]
fn a_plain_mail_is_as_plain_as_can_be() {
    let from = mailbox("Ann <ann@example.org>");
    let message = String::from_utf8(parts(&from).write().unwrap()).unwrap();
    let expected = "Date: Tue, 14 Nov 2023 22:13:20 +0000\r\n\
        Message-ID: <mails.1@example.org>\r\n\
        From: Ann <ann@example.org>\r\n\
        To: Ann <ann@example.org>\r\n\
        Subject: Hello\r\n\
        MIME-Version: 1.0\r\n\
        Content-Type: text/plain; charset=utf-8\r\n\
        Content-Transfer-Encoding: 7bit\r\n\
        \r\n\
        Hello.\r\n";
    assert_eq!(message.replace('"', ""), expected);
}

#[test]
fn the_whole_structure_comes_back() {
    let from = mailbox("Ann <ann@example.org>");
    let attachments = attachment::parse(
        r#"[{"filename":"Übersicht 2024.pdf","content_type":"application/pdf","content":"JVBERi0="},
            {"filename":"logo.png","content_type":"image/png","content":"iVBORw==","inline":true,"cid":"logo"},
            {"filename":"notes.txt","content_type":"text/plain; charset=utf-8","content":"LmEKCmIK"}]"#,
    )
    .unwrap();
    let parts = MessageParts {
        text: Some("see attachment"),
        html: Some("<img src=\"cid:logo\">"),
        attachments: &attachments,
        ..parts(&from)
    };
    let message = parts.write().unwrap();
    assert_wire_form(&message);
    let parsed = MessageParser::default().parse(&message).unwrap();
    let types: Vec<_> = parsed
        .parts
        .iter()
        .map(|part| {
            let kind = part.content_type().unwrap();
            format!("{}/{}", kind.ctype(), kind.subtype().unwrap())
        })
        .collect();
    assert_eq!(
        types,
        [
            "multipart/mixed",
            "multipart/alternative",
            "text/plain",
            "multipart/related",
            "text/html",
            "image/png",
            "application/pdf",
            "text/plain"
        ]
    );
    assert_eq!(parsed.body_text(0).unwrap().trim_end(), "see attachment");
    assert_eq!(parsed.body_html(0).unwrap().trim_end(), "<img src=\"cid:logo\">");
    let pdf = parsed.parts.iter().find(|part| part.attachment_name() == Some("Übersicht 2024.pdf")).unwrap();
    assert_eq!(pdf.contents(), b"%PDF-");
    let logo = parsed.parts.iter().find(|part| part.content_id() == Some("logo")).unwrap();
    assert_eq!(logo.contents(), b"\x89PNG");
    let notes = parsed.parts.iter().find(|part| part.attachment_name() == Some("notes.txt")).unwrap();
    assert_eq!(notes.contents(), b".a\n\nb\n");
}

#[test]
fn attached_texts_keep_every_byte() {
    let from = mailbox("ann@example.org");
    // "a\rb\0c\n.\r\n" and blanks at the end
    let json = r#"[{"filename":"a.txt","content_type":"text/plain; charset=us-ascii","content":"YQ1iAGMKLg0KICA="}]"#;
    let attachments = attachment::parse(json).unwrap();
    let message = MessageParts { attachments: &attachments, ..parts(&from) }.write().unwrap();
    assert_wire_form(&message);
    let parsed = MessageParser::default().parse(&message).unwrap();
    let part = parsed.parts.iter().find(|part| part.attachment_name() == Some("a.txt")).unwrap();
    assert_eq!(part.content_type().unwrap().attribute("charset"), Some("us-ascii"));
    assert_eq!(part.contents(), b"a\rb\0c\n.\r\n  ");
}

#[test]
fn the_same_parts_give_the_same_bytes() {
    let from = mailbox("Ann <ann@example.org>");
    let parts = MessageParts { html: Some("<p>x</p>"), ..parts(&from) };
    assert_eq!(parts.write().unwrap(), parts.write().unwrap());
}

#[test]
fn a_body_that_guesses_the_boundary_stays_one_part() {
    let from = mailbox("ann@example.org");
    let honest = MessageParts { html: Some("<p>x</p>"), ..parts(&from) }.write().unwrap();
    let honest = String::from_utf8(honest).unwrap();
    let boundary = honest.split("boundary=\"").nth(1).unwrap().split('"').next().unwrap();
    let text = format!("a\n--{boundary}\nContent-Type: text/html\n\nfake\n--{boundary}--\n");
    let message = MessageParts { text: Some(&text), html: Some("<p>x</p>"), ..parts(&from) }.write().unwrap();
    let parsed = MessageParser::default().parse(&message).unwrap();
    assert_eq!(parsed.parts.len(), 3);
    assert_eq!(parsed.body_text(0).unwrap().replace("\r\n", "\n"), text);
    assert_eq!(parsed.body_html(0).unwrap().trim_end(), "<p>x</p>");
}

#[test]
fn m08_blind_recipients_are_in_no_header() {
    let from = mailbox("ann@example.org");
    let message = MessageParts { to: &[], ..parts(&from) }.write().unwrap();
    let message = String::from_utf8(message).unwrap();
    assert!(message.contains("To: undisclosed-recipients:;\r\n"), "{message}");
    assert!(!message.to_lowercase().contains("bcc"));
}

#[test]
fn a_mail_to_cc_alone_has_no_to_header() {
    let from = mailbox("ann@example.org");
    let message = MessageParts { to: &[], cc: std::slice::from_ref(&from), ..parts(&from) }.write().unwrap();
    let message = String::from_utf8(message).unwrap();
    assert!(message.contains("\r\nCc: <ann@example.org>\r\n") && !message.contains("\r\nTo:"), "{message}");
}

#[test]
fn long_ascii_headers_are_folded_and_not_encoded() {
    let from = mailbox("ann@example.org");
    let value = "<https://example.org/unsubscribe?token=abcdefghijklmnopqrstuvwxyz0123456789>, <mailto:leave@example.org>";
    let headers = header::parse(&serde_json::json!({ "List-Unsubscribe": value }).to_string()).unwrap();
    let subject = "word ".repeat(40);
    let message =
        MessageParts { headers: &headers, subject: Some(subject.trim()), ..parts(&from) }.write().unwrap();
    assert_wire_form(&message);
    let text = String::from_utf8(message).unwrap();
    let unfolded = text.replace("\r\n ", " ");
    assert!(unfolded.contains(&format!("List-Unsubscribe: {value}\r\n")), "{text}");
    assert!(unfolded.contains(&format!("Subject: {}\r\n", subject.trim())), "{text}");
}

/// Ordinary and difficult text: emoji, right-to-left, long lines, dots, trailing blanks.
fn body() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[ -~]{0,60}",
        "\\PC{0,40}",
        "\\.{1,3}[a-z]{0,5}",
        "[a-z]{0,10}[ \t]{1,3}",
        Just("مرحبا שלום 🎉👩‍👩‍👧 naïve".to_owned()),
        Just("x".repeat(2000)),
        Just("From here".to_owned()),
        Just("=20 =_ =?utf-8?q?x?=".to_owned()),
    ];
    (prop::collection::vec(line, 0..8), prop_oneof![Just("\n"), Just("\r\n")])
        .prop_map(|(lines, end)| lines.join(end))
}

/// Normalises line endings; the wire form may add a last one.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n").trim_end_matches('\n').to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn bodies_come_back(text in body(), html in proptest::option::of(body())) {
        let from = mailbox("ann@example.org");
        let message = MessageParts { text: Some(&text), html: html.as_deref(), ..parts(&from) }.write().unwrap();
        assert_wire_form(&message);
        let parsed = MessageParser::default().parse(&message).unwrap();
        let back = parsed.body_text(0).unwrap();
        prop_assert_eq!(lines(&back), lines(&text));
        if let Some(html) = html.filter(|html| !html.is_empty()) {
            prop_assert_eq!(lines(&parsed.body_html(0).unwrap()), lines(&html));
        }
    }

    #[test]
    fn subjects_and_names_come_back(
        subject in "[^\\p{Cc}\\p{Zl}\\p{Zp}]{0,120}",
        name in "[^\\p{Cc}\\p{Zl}\\p{Zp}]{1,60}",
    ) {
        prop_assume!(!subject.contains("=?") && !name.contains("=?"));
        let from = mailbox("ann@example.org");
        let to = Mailbox::new(&name, from.address.clone()).unwrap();
        let message = MessageParts { to: std::slice::from_ref(&to), subject: Some(&subject), ..parts(&from) };
        let message = message.write().unwrap();
        assert_wire_form(&message);
        let parsed = MessageParser::default().parse(&message).unwrap();
        let spaces = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        prop_assert_eq!(spaces(parsed.subject().unwrap_or_default()), spaces(&subject));
        let back = parsed.to().unwrap().first().unwrap();
        prop_assert_eq!(back.address(), Some("ann@example.org"));
        prop_assert_eq!(spaces(back.name().unwrap_or_default()), spaces(&name));
    }
}
