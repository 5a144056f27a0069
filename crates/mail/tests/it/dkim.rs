//! Signatures, byte by byte, against vectors that another implementation verified (see `tests/dkim/README.md`).

use std::path::PathBuf;

use postrider_mail::{MessageParts, Signer, attachment, dkim, header};

use crate::roundtrip::{assert_wire_form, mailbox, parts};

const RSA: &str = include_str!("../dkim/rsa.pem");
const ED25519: &str = include_str!("../dkim/ed25519.pem");
const TIME: i64 = 1_700_000_000;

fn signers() -> [Signer; 2] {
    [Signer::new("example.org", "rsa", RSA).unwrap(), Signer::new("example.org", "ed", ED25519).unwrap()]
}

/// Signs the message and compares it with the file of that name; with `POSTRIDER_BLESS`, writes the file instead.
fn assert_vector(name: &str, mut message: Vec<u8>) {
    dkim::sign(&signers(), &mut message, TIME);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/dkim").join(name);
    if std::env::var_os("POSTRIDER_BLESS").is_some() {
        std::fs::write(&path, &message).unwrap();
    }
    let verified = std::fs::read(&path).unwrap();
    assert!(
        message == verified,
        "{name} differs from what was verified:\n{}",
        String::from_utf8_lossy(&message)
    );
}

fn raw(body: &str) -> Vec<u8> {
    let head = "From: Ann <ann@example.org>\r\nTo: b@example.org\r\nSubject: raw\r\n\r\n";
    format!("{head}{body}").into_bytes()
}

#[test]
fn a_plain_mail() {
    let from = mailbox("Ann <ann@example.org>");
    let message = parts(&from).write().unwrap();
    assert_wire_form(&message);
    assert_vector("plain.eml", message);
}

#[test]
fn a_mail_with_everything() {
    let from = mailbox("Änne <ann@example.org>");
    let to: Vec<_> = (0..12).map(|n| mailbox(&format!("\"Doe, {n}\" <user{n}@example.net>"))).collect();
    let attachments = r#"[{"filename":"ünïcode.bin","content":"AAECAwQ="}]"#;
    let attachments = attachment::parse(attachments).unwrap();
    let headers = r#"{"List-Unsubscribe":"<https://example.org/u>","List-Unsubscribe-Post":"List-Unsubscribe=One-Click",
        "References":["<a@example.org>","<b@example.org>"],"X-Twice":["one","two"]}"#;
    let headers = header::parse(headers).unwrap();
    let message = MessageParts {
        to: &to,
        cc: std::slice::from_ref(&from),
        reply_to: std::slice::from_ref(&from),
        subject: Some("🎉 a rather long subject, which has to be folded, שלום and مرحبا, more than once"),
        text: Some("text  with   blanks \n\n.dot\n"),
        html: Some("<p>ümläut</p>"),
        headers: &headers,
        attachments: &attachments,
        ..parts(&from)
    };
    assert_vector("everything.eml", message.write().unwrap());
}

#[test]
fn bodies_that_end_in_blank_lines() {
    assert_vector("blank_lines.eml", raw("text\r\n \r\n\t\r\n   \t \r\n\r\n"));
}

#[test]
fn bodies_with_inner_blanks() {
    assert_vector("blanks.eml", raw("  a \t b\t\r\n\r\n \r\n\tc  \r\nlast without end"));
}

#[test]
fn empty_bodies() {
    assert_vector("empty.eml", raw(""));
    assert_vector("only_blank.eml", raw(" \r\n\r\n"));
}

#[test]
fn folded_and_repeated_headers() {
    let message = "From:\tAnn\t <ann@example.org> \r\nSubject: folded\r\n\t over  \r\n  lines \r\nTo: b@example.org\r\n\
        List-Id: one\r\nlist-id: two\r\n\r\nbody\r\n";
    assert_vector("headers.eml", message.as_bytes().to_vec());
}

#[test]
fn large_bodies_are_hashed_in_blocks() {
    let line = "0123456789 abcdef  ghijklmnop\tqrstuv\r\n";
    assert_vector("large.eml", raw(&line.repeat(500)));
}

#[test]
fn both_encodings_of_an_rsa_key_are_the_same_key() {
    let pkcs1 = Signer::new("example.org", "rsa", include_str!("../dkim/rsa_pkcs1.pem")).unwrap();
    let (mut one, mut two) = (raw("x\r\n"), raw("x\r\n"));
    dkim::sign([&pkcs1], &mut one, TIME);
    dkim::sign([&signers()[0]], &mut two, TIME);
    assert_eq!(one, two);
}

#[test]
fn invalid_keys_are_refused_without_being_shown() {
    let weak = include_str!("../dkim/weak.pem");
    assert!(matches!(Signer::new("example.org", "s", weak), Err(dkim::Error::Key(_))));
    assert_eq!(Signer::new("example.org", "s", "secret words").unwrap_err(), dkim::Error::Pem);
    assert!(matches!(Signer::new("not a domain", "s", RSA), Err(dkim::Error::Domain(_))));
    assert!(matches!(Signer::new("example.org", "s; d=evil", RSA), Err(dkim::Error::Selector(_))));
    let shown = format!("{:?}", signers());
    assert_eq!(
        shown,
        "[Signer(rsa._domainkey.example.org, rsa-sha256), Signer(ed._domainkey.example.org, ed25519-sha256)]"
    );
}

#[test]
fn a_key_covers_its_domain_and_those_below() {
    let [signer, _] = signers();
    assert!(signer.covers("example.org") && signer.covers("mail.example.org"));
    assert!(!signer.covers("badexample.org") && !signer.covers("org") && !signer.covers("example.net"));
}
