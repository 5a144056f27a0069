use std::fs;
use std::path::Path;

use mail_parser::{MessageParser, MimeHeaders as _};
use postrider_contract::Counters;
use postrider_seams::{Fields, Lease, RowId, Value};

use super::*;

struct World {
    folder: tempfile::TempDir,
    composer: EmlComposer,
}

fn world() -> World {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings {
        name: "emails".to_owned(),
        base: BaseFolder::new(folder.path()),
        from: None,
        domain: None,
        size_limit: 1 << 20,
        recipient_limit: 5,
        attachment_limit: 3,
    };
    World { folder, composer: EmlComposer::new(settings) }
}

impl World {
    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// Composes the e-mail `e-1` of this payload.
    async fn compose(&self, payload: &serde_json::Value) -> Result<Envelope, Outcome> {
        fs::write(self.path("payload.json"), payload.to_string()).unwrap();
        self.compose_file("payload.json").await
    }

    async fn compose_file(&self, path: &str) -> Result<Envelope, Outcome> {
        let names: Arc<[String]> = Arc::from(["payload_path".to_owned()]);
        let row = ClaimedRow {
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
        };
        self.composer.compose(&[row]).await.remove(0)
    }

    async fn rejected(&self, payload: &serde_json::Value) -> String {
        match self.compose(payload).await {
            Err(Outcome::Rejected(failure)) => failure.reason,
            other => panic!("not rejected: {other:?}"),
        }
    }
}

fn plain() -> serde_json::Value {
    serde_json::json!({
        "id": "e-1", "from": "Zoë <zoe@example.org>", "to": "ann@example.net", "subject": "Grüße 📮", "body_text": "Hallo",
    })
}

fn with(member: &str, value: serde_json::Value) -> serde_json::Value {
    let mut payload = plain();
    payload[member] = value;
    payload
}

fn mail(envelope: Envelope) -> Mail {
    match envelope.content {
        Content::Mail(mail) => mail,
        other => panic!("no mail: {other:?}"),
    }
}

#[tokio::test]
async fn e07_a_payload_becomes_a_message() {
    let world = world();
    fs::write(world.path("logo.png"), b"\x89PNG").unwrap();
    fs::create_dir(world.path("files")).unwrap();
    fs::write(world.path("files/Übersicht.pdf"), b"%PDF").unwrap();
    let mut payload = plain();
    payload["cc"] = serde_json::json!(["\"Müller, Jörg\" <joerg@example.net>"]);
    payload["bcc"] = serde_json::json!(["hidden@example.net", "other@example.net"]);
    payload["reply_to"] = "desk@example.org".into();
    payload["body_html"] = "<p>Hallo <img src=\"cid:logo\"></p>".into();
    payload["custom_headers"] = serde_json::json!({"X-Campaign": "spring"});
    payload["attachments"] =
        serde_json::json!(["files/Übersicht.pdf", {"path": "logo.png", "cid": "logo", "inline": true}]);
    let mail = mail(world.compose(&payload).await.unwrap());
    let parsed = MessageParser::default().parse(&mail.message[..]).unwrap();
    assert_eq!(parsed.subject(), Some("Grüße 📮"));
    assert_eq!(parsed.from().unwrap().first().unwrap().name(), Some("Zoë"));
    assert_eq!(parsed.cc().unwrap().first().unwrap().name(), Some("Müller, Jörg"));
    let blind: Vec<_> = parsed.bcc().unwrap().iter().filter_map(|one| one.address()).collect();
    assert_eq!(blind, ["hidden@example.net", "other@example.net"], "kept for the send stage");
    assert_eq!(parsed.body_text(0).unwrap().trim_end(), "Hallo");
    assert!(parsed.body_html(0).unwrap().contains("cid:logo"));
    assert_eq!(parsed.header("X-Campaign").unwrap().as_text(), Some("spring"));
    let names: Vec<_> = parsed.attachments().filter_map(|part| part.attachment_name()).collect();
    assert_eq!(names, ["logo.png", "Übersicht.pdf"]);
    let logo = parsed.attachments().find(|part| part.content_id() == Some("logo")).unwrap();
    assert_eq!(logo.contents(), b"\x89PNG");
    assert_eq!(mail.to.len(), 4);
}

#[tokio::test]
async fn e07_the_reason_names_the_member() {
    let world = world();
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::os::unix::fs::symlink(outside.path(), world.path("link")).unwrap();
    fs::write(world.path("large"), vec![0; (1 << 20) + 1]).unwrap();
    fs::write(world.path("half"), vec![0; (1 << 19) + 1]).unwrap();
    let out = Path::new(outside.path()).to_str().unwrap().to_owned();
    let cases = [
        (with("id", "e-2".into()), "id:"),
        (with("from", "nobody".into()), "from:"),
        (with("from", serde_json::Value::Null), "from:"),
        (with("to", serde_json::json!([])), "to:"),
        (with("to", "a@b@c".into()), "to:"),
        (
            with(
                "cc",
                serde_json::json!([
                    "a@x.example",
                    "b@x.example",
                    "c@x.example",
                    "d@x.example",
                    "e@x.example"
                ]),
            ),
            "limit of 5",
        ),
        (with("subject", "a\r\nBcc: x@y.example".into()), "subject"),
        (with("body_text", "".into()), "body_text:"),
        (with("custom_headers", serde_json::json!({"Bcc": "x@y.example"})), "custom_headers:"),
        (with("attachments", serde_json::json!(["../secret"])), "attachment 1"),
        (with("attachments", serde_json::json!([out])), "not below the base folder"),
        (with("attachments", serde_json::json!(["link"])), "not below the base folder"),
        (with("attachments", serde_json::json!(["none"])), "is not there"),
        (with("attachments", serde_json::json!([{"filename": "a.txt"}])), "neither a path nor content"),
        (with("attachments", serde_json::json!(["large"])), "at most 1048576"),
        (with("attachments", serde_json::json!(["half", "half"])), "together"),
        (with("attachments", serde_json::json!(["a", "b", "c", "d"])), "limit of 3"),
        (
            with("attachments", serde_json::json!([{"path": "half", "content": "aGk="}])),
            "both a path and content",
        ),
        (with("attachments", serde_json::json!(["x".repeat(5000)])), "is not there"),
    ];
    for (payload, expected) in cases {
        let reason = world.rejected(&payload).await;
        assert!(reason.contains(expected), "{expected:?} is not in {reason:?}");
    }
}

#[tokio::test]
async fn e07_a_member_of_the_wrong_type_is_named_and_a_list_is_rejected() {
    let world = world();
    for (payload, expected) in [
        (with("subject", 5.into()), "subject: invalid type: integer `5`, expected a string"),
        (with("body_html", serde_json::json!({})), "body_html: invalid type: map, expected a string"),
        (with("attachments", "a.txt".into()), "attachments: invalid type: string"),
        (
            with("attachments", serde_json::json!(["a.txt", 5])),
            "attachments[1]: invalid type: integer `5`, expected a path, or an object",
        ),
        (with("attachments", serde_json::json!([["a.txt"]])), "attachments[0]: invalid type: sequence"),
        (
            with("attachments", serde_json::json!([{"path": true}])),
            "attachments[0].path: invalid type: boolean",
        ),
        // The members as a list, in the order of our struct: serde alone would accept it.
        (
            serde_json::json!([
                "e-1",
                "a@x.example",
                null,
                "b@x.example",
                null,
                null,
                "s",
                null,
                "t",
                null,
                null
            ]),
            "payload: invalid type: sequence, expected an object",
        ),
        (serde_json::Value::Null, "payload: invalid type: null, expected an object"),
    ] {
        let reason = world.rejected(&payload).await;
        assert!(reason.starts_with(expected), "{expected:?} is not how {reason:?} begins");
    }
    for (text, expected) in [
        (r#"{"to": "a@x.example", "to": "b@x.example"}"#, "duplicate field `to`"),
        (r#"{"attachments": [{"path": "a", "path": "b"}]}"#, "attachments[0]"),
        ("{} {}", "payload: invalid JSON: trailing characters"),
    ] {
        fs::write(world.path("payload.json"), text).unwrap();
        match world.compose_file("payload.json").await {
            Err(Outcome::Rejected(failure)) => assert!(failure.reason.contains(expected), "{failure:?}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn e07_a_broken_payload_is_rejected_and_a_lost_file_system_waited_for() {
    let world = world();
    let whole = plain().to_string();
    fs::write(world.path("half.json"), &whole[..whole.len() / 2]).unwrap();
    for (file, expected) in
        [("half.json", "invalid JSON"), ("none.json", "is not there"), ("", "names no payload")]
    {
        match world.compose_file(file).await {
            Err(Outcome::Rejected(failure)) => assert!(failure.reason.contains(expected), "{failure:?}"),
            other => panic!("{file}: {other:?}"),
        }
    }
    fs::remove_dir_all(world.folder.path()).unwrap();
    match world.compose_file("payload.json").await {
        Err(Outcome::Deferred(failure)) => assert!(failure.after.is_some()),
        other => panic!("{other:?}"),
    }
}
