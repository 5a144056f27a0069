use std::fs;

use postrider_contract::Counters;
use postrider_seams::{Fields, Lease, RowId, Value};

use super::*;

async fn compose(text: &[u8], bounces: Option<&str>) -> Result<Mail, Outcome> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.eml"), text).unwrap();
    let settings = Settings {
        base: Base::new(folder.path()),
        bounces: bounces.map(|address| Address::parse(address).unwrap()),
        size_limit: 1 << 20,
        recipient_limit: 5,
    };
    let names: Arc<[String]> = Arc::from(["eml_path".to_owned()]);
    let row = Claimed {
        lease: Lease { id: RowId::Text("e-1".into()), fence: Box::default() },
        counters: Counters::default(),
        from: None,
        group: None,
        pool: None,
        share: None,
        waited_micros: 0,
        size: 0,
        fields: Some(Fields::new(names, vec![Value::Text("a.eml".to_owned())])),
    };
    match RawEmlComposer::new(settings).compose(&[row]).await.remove(0)?.content {
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

#[tokio::test]
async fn e08_settings_say_where_bounces_go() {
    let mail = compose(MESSAGE.as_bytes(), Some("bounces@example.org")).await.unwrap();
    assert_eq!(mail.from, "bounces@example.org");
}

#[tokio::test]
async fn e08_what_is_no_message_is_rejected() {
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
async fn e08_whoever_a_second_field_names_is_a_recipient_as_well() {
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
async fn e08_a_word_that_is_no_address_is_told_instead_of_passed_over() {
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
async fn e08_what_stands_before_the_header_hides_no_field() {
    for before in ["\u{feff}", "From shop@example.org Mon Jan  1 00:00:00 2026\n", "\u{feff}From x y\r\n"] {
        let mail =
            compose(format!("{before}Bcc: hidden@example.net\n{MESSAGE}").as_bytes(), None).await.unwrap();
        assert_eq!(mail.to.len(), 4, "{before:?}: {:?}", mail.to);
        assert!(mail.message.starts_with(b"From: Ann"), "{before:?}");
    }
}

#[tokio::test]
async fn e08_a_large_file_is_not_loaded_but_for_its_header() {
    let head = "From: ann@example.org\nTo: bob@example.net\nBcc: hidden@example.net\nSubject: x\n\n";
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
