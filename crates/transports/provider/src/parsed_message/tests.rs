use super::*;

const MESSAGE: &str = "From: \"Box, Office\" <box@example.org>\r\n\
To: Ann <ann@example.com>, bob@example.com\r\n\
Cc: =?utf-8?q?J=C3=B6rg?= <joerg@example.com>\r\n\
Reply-To: help@example.org\r\n\
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\
Date: Mon, 16 Nov 2026 00:00:00 +0000\r\n\
Message-ID: <m-1@example.org>\r\n\
List-Unsubscribe: <https://example.org/u/1>,\r\n <mailto:u@example.org>\r\n\
DKIM-Signature: v=1; a=rsa-sha256; b=abc\r\n\
MIME-Version: 1.0\r\n\
Content-Type: multipart/mixed; boundary=\"m\"\r\n\r\n\
--m\r\nContent-Type: multipart/alternative; boundary=\"a\"\r\n\r\n\
--a\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHallo\r\n\
--a\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>Hallo</p>\r\n--a--\r\n\
--m\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"t.pdf\"\r\n\
Content-Transfer-Encoding: base64\r\n\r\nAAEC\r\n\
--m\r\nContent-Type: image/png\r\nContent-Disposition: inline; filename=\"l.png\"\r\nContent-ID: <logo>\r\n\
Content-Transfer-Encoding: base64\r\n\r\n/wA=\r\n--m--\r\n";

#[test]
fn a_message_is_taken_apart() {
    let message = parse(MESSAGE.as_bytes()).unwrap();
    assert_eq!(
        message.from,
        Some(ParsedMailbox { name: Some("Box, Office".to_owned()), email: "box@example.org".to_owned() })
    );
    assert_eq!(
        message.to.iter().map(|to| to.email.as_str()).collect::<Vec<_>>(),
        ["ann@example.com", "bob@example.com"]
    );
    assert_eq!(message.cc[0].name.as_deref(), Some("Jörg"));
    assert_eq!(message.reply_to[0].email, "help@example.org");
    assert_eq!(message.subject, "Grüße");
    assert_eq!(message.text.as_deref().map(str::trim_end), Some("Hallo"));
    assert_eq!(message.html.as_deref().map(str::trim_end), Some("<p>Hallo</p>"));
    let cached =
        [("List-Unsubscribe".to_owned(), "<https://example.org/u/1>, <mailto:u@example.org>".to_owned())];
    assert_eq!(message.headers, cached);
    let [pdf, logo] = &message.attachments[..] else { panic!("{:?}", message.attachments) };
    assert_eq!(
        (pdf.name.as_str(), pdf.media_type.as_str(), &pdf.content[..]),
        ("t.pdf", "application/pdf", &[0, 1, 2][..])
    );
    assert_eq!(
        (logo.content_id.as_deref(), logo.inline, &logo.content[..]),
        (Some("logo"), true, &[255, 0][..])
    );
    assert_eq!(sender(MESSAGE.as_bytes()).as_deref(), Some("box@example.org"));
}

#[test]
fn missing_parts_are_not_invented() {
    let only = |kind: &str| format!("From: a@example.org\r\nContent-Type: {kind}\r\n\r\nhi\r\n");
    let text = parse(only("text/plain").as_bytes()).unwrap();
    assert_eq!((text.text.is_some(), text.html), (true, None));
    let html = parse(only("text/html").as_bytes()).unwrap();
    assert_eq!((html.html.is_some(), html.text), (true, None));
    assert!(parse(b"Subject: x\r\n\r\nno sender").is_err());
}
