use std::fs;

use postrider_contract::Counters;
use postrider_seams::{Fields, Lease, RowId, Value};

use super::*;

fn composer(folder: &std::path::Path, bounces: Option<&str>) -> RawEmlComposer {
    RawEmlComposer::new(Settings {
        base: BaseFolder::new(folder),
        bounces: bounces.map(|address| Address::parse(address).unwrap()),
        size_limit: 1 << 20,
        recipient_limit: 5,
    })
}

fn row(path: &str) -> ClaimedRow {
    let names: Arc<[String]> = Arc::from(["eml_path".to_owned()]);
    ClaimedRow {
        lease: Lease { id: RowId::Text("e-1".into()), fence: Box::default() },
        counters: Counters::default(),
        from: None,
        group: None,
        pool: None,
        share: None,
        crashes: 0,
        since_crash: 0,
        waited_micros: 0,
        size: 0,
        fields: Some(Fields::new(names, vec![Value::Text(path.to_owned())])),
    }
}

async fn compose(text: &[u8], bounces: Option<&str>) -> Result<Mail, Outcome> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.eml"), text).unwrap();
    match composer(folder.path(), bounces).compose(&[row("a.eml")]).await.remove(0)?.content {
        Content::Mail(mail) => Ok(mail),
        other => panic!("no mail: {other:?}"),
    }
}

const MESSAGE: &str = "From: Ann <ann@example.org>\nTo: bob@example.net,\n =?utf-8?q?J=C3=B6rg?= <joerg@example.net>\n\
                       BCC: hidden@example.net,\n\tother@example.net\nMessage-ID: <m-1@example.org>\nSubject: x\n\n\
                       Bcc: this is text\n.\nend";

#[tokio::test]
async fn e08_a_file_is_sent_as_it_is_but_for_its_bcc() {
    let mail = compose(MESSAGE.as_bytes(), None).await.unwrap();
    assert_eq!(mail.from, "ann@example.org");
    assert_eq!(mail.to, ["bob@example.net", "joerg@example.net", "hidden@example.net", "other@example.net"]);
    assert_eq!(mail.message_id, "m-1@example.org");
    let expected = "From: Ann <ann@example.org>\r\nTo: bob@example.net,\r\n =?utf-8?q?J=C3=B6rg?= <joerg@example.net>\r\n\
                    Message-ID: <m-1@example.org>\r\nSubject: x\r\n\r\nBcc: this is text\r\n.\r\nend\r\n";
    assert_eq!(String::from_utf8_lossy(&mail.message), expected);
}

/// The recipients are known with the claim, so that one query checks the suppressions of all its rows.
#[tokio::test]
async fn e08_recipients_of_files_are_known_before_composing() {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("X-Long: {}\n{MESSAGE}", "word ".repeat(10_000));
    fs::write(folder.path().join("a.eml"), MESSAGE).unwrap();
    fs::write(folder.path().join("long.eml"), long).unwrap();
    fs::write(folder.path().join("none.eml"), "no message").unwrap();
    let composer = composer(folder.path(), None);
    let rows = ["a.eml", "gone.eml", "long.eml", "none.eml"].map(row);
    let found = composer.recipients(&rows.iter().collect::<Vec<_>>()).await;
    let composed = compose(MESSAGE.as_bytes(), None).await.unwrap().to;
    assert_eq!(found, [composed.clone(), Vec::new(), composed, Vec::new()]);
}

/// A row has the same fingerprint in every attempt; another file, or another message in it, has another one.
#[tokio::test]
async fn m09_the_fingerprint_is_that_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let of = async |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        let composed = composer(folder.path(), None).compose(&[row(name)]).await.remove(0).unwrap();
        composed.detail["fingerprint"].as_text().unwrap().to_owned()
    };
    let first = of("a.eml", MESSAGE).await;
    assert_eq!(of("a.eml", MESSAGE).await, first);
    assert_ne!(of("b.eml", MESSAGE).await, first);
    assert_ne!(of("a.eml", &MESSAGE.replace("m-1@", "m-2@")).await, first);
}

#[tokio::test]
async fn e08_the_settings_define_the_bounce_address() {
    let mail = compose(MESSAGE.as_bytes(), Some("bounces@example.org")).await.unwrap();
    assert_eq!(mail.from, "bounces@example.org");
}

#[tokio::test]
async fn e08_files_that_are_not_messages_are_rejected() {
    for (text, expected) in [
        (&b""[..], "no message"),
        (b"Subject: x\n\nbody", "no sender"),
        (b"From: a@example.org\n\nbody", "no recipient"),
        (b"From: a@example.org\nTo: not an address\n\nbody", "eml:"),
    ] {
        match compose(text, None).await {
            Err(Outcome::Rejected(failure)) => {
                assert!(failure.reason.contains("eml:"), "{expected}: {}", failure.reason);
            }
            other => panic!("{expected}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn e08_addresses_in_a_second_field_are_recipients_too() {
    let text = "From: a@example.org\nTo: one@example.net\nBcc: hid@example.net\nCc: two@example.net\nTo: three@example.net\n\
                BCC: hidden@example.net\nCc: Team: four@example.net;\n\nbody";
    let folder_limit = compose(text.as_bytes(), None).await;
    assert!(matches!(folder_limit, Err(Outcome::Rejected(_))), "all six count for the limit of five");
    let mail = compose(text.replace("Cc: two@example.net\n", "").as_bytes(), None).await.unwrap();
    let everyone = ["one", "three", "four", "hid", "hidden"].map(|name| format!("{name}@example.net"));
    assert_eq!(mail.to, everyone);
    assert!(!String::from_utf8_lossy(&mail.message).contains("hid"), "neither Bcc goes out");
}

#[tokio::test]
async fn e08_an_invalid_address_is_reported_and_not_skipped() {
    for list in ["a@example.net, nobody, b@example.net", "nobody", "Ann Example"] {
        match compose(format!("From: a@example.org\nTo: {list}\n\nbody").as_bytes(), None).await {
            Err(Outcome::Rejected(failure)) => {
                assert!(failure.reason.contains("is not an address"), "{failure:?}");
            }
            other => panic!("{list}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn e08_text_before_the_header_hides_no_field() {
    for before in ["\u{feff}", "From shop@example.org Mon Jan  1 00:00:00 2026\n", "\u{feff}From x y\r\n"] {
        let mail =
            compose(format!("{before}Bcc: hidden@example.net\n{MESSAGE}").as_bytes(), None).await.unwrap();
        assert_eq!(mail.to.len(), 4, "{before:?}: {:?}", mail.to);
        assert!(mail.message.starts_with(b"From: Ann"), "{before:?}");
    }
}

#[tokio::test]
async fn e08_a_large_file_is_not_loaded_but_for_its_header() {
    let head = "From: ann@example.org\nTo: bob@example.net\nBcc: hidden@example.net\nMessage-ID: <m@example.org>\n\n";
    let body = "A line.\n".repeat(100_000);
    let mail = compose(format!("{head}{body}").as_bytes(), None).await.unwrap();
    assert_eq!(mail.to, ["bob@example.net", "hidden@example.net"]);
    let sent = head.replace("Bcc: hidden@example.net\n", "").replace('\n', "\r\n");
    assert_eq!(String::from_utf8_lossy(&mail.message), sent);
    assert_eq!(mail.size(), (sent.len() + 9 * 100_000) as u64);
    let whole = mail.loaded().await.unwrap();
    assert_eq!(whole.message, format!("{sent}{}", body.replace('\n', "\r\n")));

    let endless = format!("From: ann@example.org\n{}", "X-Long: header\n".repeat(20_000));
    assert!(matches!(compose(endless.as_bytes(), None).await, Err(Outcome::Rejected(_))));
}

/// Every line ending, and every way to write a field that names blind recipients.
#[tokio::test]
async fn e08_bcc_never_leaves_whatever_the_line_ends() {
    let before = "From: ann@example.org\r\nTo: bob@example.net\r\nSubject: x";
    for (separator, blind) in [
        ("\r\n\r", "Bcc: hidden@example.net"),
        ("\r", "Bcc: hidden@example.net"),
        ("\n", "Bcc: hidden@example.net"),
        ("\r\r\n", "BCC: hidden@example.net"),
        ("\r\n\r\r", "bcc : hidden@example.net"),
        ("\r\n", "Bcc\t:\r\n hidden@example.net"),
        ("\r\n", "Bcc:\r\thidden@example.net,\r\n\r hidden@example.net"),
        ("\r\n \r\n", "Bcc: hidden@example.net\nbcc:\r hidden@example.net"),
    ] {
        let text = format!("{before}{separator}{blind}\r\nX-Last: y\r\n\r\nbody\r\n");
        let mail = compose(text.as_bytes(), None).await.unwrap();
        let sent = String::from_utf8_lossy(&mail.message);
        assert!(!sent.contains("hidden"), "{text:?} left as {sent:?}");
        assert!(sent.contains("X-Last: y\r\n") && sent.ends_with("\r\n\r\nbody\r\n"), "{sent:?}");
        assert!(mail.to.iter().any(|to| to == "hidden@example.net"), "{text:?}: {:?}", mail.to);
    }
    let old = b"From: ann@example.org\rTo: bob@example.net\rBcc: hidden@example.net\r\rbody\r\rof lines";
    let mail = compose(old, None).await.unwrap();
    assert_eq!(mail.to, ["bob@example.net", "hidden@example.net"], "a file with CR line ends alone");
    let sent = String::from_utf8_lossy(&mail.message);
    assert!(sent.ends_with("\r\n\r\nbody\r\n\r\nof lines\r\n") && !sent.contains("hidden"), "{sent:?}");
}

/// Programs that write a list over several lines without folding it.
#[tokio::test]
async fn e08_bcc_that_is_not_folded_never_leaves() {
    for blind in [
        "Bcc: hidden@example.net,\r\nhidden2@example.net",
        "Bcc:\nhidden@example.net,\nhidden2@example.net",
        "Bcc: \"A\" <hidden@example.net>,\r\n\"B: C\" <hidden2@example.net>",
        "Bcc: hidden@example.net,\r\nhidden2@example.net, Team: hidden3@example.net;",
        "bcc : hidden@example.net,\r\r\n<hidden2@example.net>",
        "Bcc: hidden@example.net,\rhidden2@example.net",
        "Bcc: hidden@example.net,\r\n\thidden3@example.net,\r\nhidden2@example.net",
    ] {
        for last in ["\r\nX-Last: y\r\n\r\nbody\r\n", "\r\n\r\nbody\r\n", "\r\n", ""] {
            let text = format!("From: ann@example.org\r\nTo: bob@example.net\r\n{blind}{last}");
            let mail = compose(text.as_bytes(), None).await.unwrap();
            let sent = String::from_utf8_lossy(&mail.message);
            assert!(!sent.contains("hidden"), "{text:?} left as {sent:?}");
            assert_eq!(sent.contains("X-Last: y\r\n"), last.contains("X-Last"), "{sent:?}");
            for blind in ["hidden@example.net", "hidden2@example.net"] {
                assert!(mail.to.iter().any(|to| to == blind), "{text:?}: {:?}", mail.to);
            }
        }
    }
}

/// The name of the field and its colon on different lines, or no colon at all: no parser agrees on the recipients.
#[tokio::test]
async fn e08_bcc_without_a_colon_never_leaves() {
    for blind in [
        "Bcc\n: hidden@example.net",
        "Bcc hidden@example.net",
        "Bcc\n hidden@example.net",
        "Bcc\nhidden@example.net",
    ] {
        let text = format!("From: ann@example.org\nTo: bob@example.net\n{blind}\nX-Last: y\n\nbody\n");
        match compose(text.as_bytes(), None).await {
            Err(Outcome::Rejected(failure)) => assert!(failure.reason.contains("blind"), "{failure:?}"),
            other => panic!("{blind:?}: {other:?}"),
        }
    }
}

/// A file is rejected if its blind recipients cannot be read: they would silently get nothing.
#[tokio::test]
async fn e08_unreadable_blind_recipients_are_reported_and_not_skipped() {
    for (name, said) in [("B\u{0}cc", "B\\0cc"), ("Resent-Bcc", "Resent-Bcc"), ("b\u{1}CC", "b\\u{1}CC")] {
        let text =
            format!("From: ann@example.org\nTo: bob@example.net\n{name}: hidden@example.net\n\nbody\n");
        match compose(text.as_bytes(), None).await {
            Err(Outcome::Rejected(failure)) => {
                assert!(failure.reason.contains(&format!("field {said} names blind")), "{failure:?}");
            }
            other => panic!("{name:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn e08_a_file_without_a_message_id_gets_the_same_one_each_time() {
    let text = "From: ann@example.org\nTo: bob@example.net\n\nbody\n";
    let mail = compose(text.as_bytes(), None).await.unwrap();
    assert_eq!(mail.message_id, "emails.e-1@example.org");
    let sent = String::from_utf8_lossy(&mail.message);
    assert!(sent.contains("\r\nMessage-ID: <emails.e-1@example.org>\r\n\r\nbody"), "{sent:?}");
    assert_eq!(compose(text.as_bytes(), None).await.unwrap().message, mail.message);
    let sent = compose(MESSAGE.as_bytes(), None).await.unwrap().message;
    assert_eq!(String::from_utf8_lossy(&sent).matches("Message-ID").count(), 1, "one that is there stays");
}

proptest::proptest! {
    /// A second parser reads the message that is sent: it has no field for blind recipients, whatever surrounds it.
    #[test]
    fn e08_another_parser_finds_no_bcc_in_the_sent_message(
        parts in proptest::collection::vec(0_usize..11, 1..12),
        ends in proptest::collection::vec(0_usize..7, 12),
    ) {
        let fields =
            ["Subject: x", "Bcc: hidden@example.net", "bcc :hidden@example.net", "Resent-Bcc:hidden@example.net",
             "To: bob@example.net", "BCC:\r\n hidden@example.net", "X-A: b", "Cc: bob@example.net", "B\u{1}cc:hidden@example.net",
             "Bcc: a@example.net,\r\nhidden@example.net", "bcc:\n\"Hi: x\" <hidden@example.net>"];
        let endings = ["\r\n", "\n", "\r", "\r\r\n", "\r\n\r", "\n\r", "\r\n\t\r\n"];
        let mut file = String::from("From: ann@example.org\r\nTo: bob@example.net\r\n");
        for (part, end) in parts.iter().zip(&ends) {
            file.push_str(fields[*part]);
            file.push_str(endings[*end]);
        }
        file.push_str("X-Last: y\r\n\r\nbody\r\n");
        let message = headers::SplitMessage::split(file.as_bytes());
        let sent = message.without_bcc();
        let parsed = mail_parser::MessageParser::default().parse(&sent).expect("a message");
        proptest::prop_assert!(parsed.bcc().is_none(), "{file:?}");
        let text = String::from_utf8_lossy(&sent);
        proptest::prop_assert!(!text.contains("hidden"), "{:?} left as {:?}", file, text);
        let body = parsed.body_text(0).expect("a body");
        proptest::prop_assert_eq!(body.trim_end(), "body");
        proptest::prop_assert!(!text.replace("\r\n", "").contains(['\r', '\n']), "one kind of line end");
    }
}
