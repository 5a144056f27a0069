//! All four stages on each database, with invalid rows among valid ones.

use std::time::Duration;

use super::{history, settings, wait_for_state};
use crate::sandbox::Sandbox;
use crate::support::callback_receiver::CallbackReceiver;
use crate::support::database::{self, Kind};
use crate::support::sql::Sql;

async fn pipeline(kind: Kind) {
    let sandbox = Sandbox::new(None);
    let (url, sql) = database::fresh(kind, "emails", &sandbox).await;
    let receiver = CallbackReceiver::start(1, Duration::ZERO);
    let base = sandbox.path("mnt");
    std::fs::create_dir_all(&base).unwrap();
    let text = settings(&url, base.to_str().unwrap(), &receiver.url);
    std::fs::write(sandbox.path("postrider.toml"), text).unwrap();
    sandbox.run(&["migrate"]).success();
    let send = |id: &str| {
        let words = [
            "send",
            "mail",
            "--lane",
            "intake",
            "--from",
            "Zoë <zoe@example.org>",
            "--bcc",
            "hidden@example.net",
        ];
        let more =
            ["--to", "ann@example.net", "--subject", "Grüße", "--text", "Hallo", "--idempotency-key", id];
        sandbox.run(&[&words[..], &more].concat())
    };
    send("good").success();
    send("good").code(1);
    bad_rows(&base, &sql).await;

    let mut running = sandbox.start();
    for (id, why) in [
        ("missing", "is not there"),
        ("broken", "invalid JSON"),
        ("outside", "not below the base folder"),
        ("huge", "at most"),
    ] {
        let reason = wait_for_state(&sql, id, "INVALID").await;
        assert!(reason.contains(why), "{id}: {reason}");
    }
    wait_for_state(&sql, "good", "SENT-ACKNOWLEDGED").await;
    wait_for_state(&sql, "lost", "FAILED-ACKNOWLEDGED").await;
    running.signal(rustix::process::Signal::TERM);
    assert_eq!(running.ended(Duration::from_secs(30)), Some(0), "{}", running.log());

    let eml = std::fs::read_to_string(base.join("eml/good.eml")).unwrap();
    assert!(eml.contains("Bcc: <hidden@example.net>"), "{eml}");
    let sent = std::fs::read_dir(sandbox.path("outbox")).unwrap().map(|file| file.unwrap().path());
    let sent: Vec<String> = sent.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert_eq!(sent.len(), 1);
    assert!(
        sent[0].contains("X-Envelope-To: <hidden@example.net>") && !sent[0].contains("\nBcc:"),
        "{}",
        sent[0]
    );
    // The first call was refused and repeated.
    let states = history(&sql, "good").await;
    let whole = ["ACCEPTED", "INTAKING", "READY", "PROCESSING", "SENT", "CALLING-SENT-CALLBACK"];
    assert_eq!(states[..6], whole);
    assert_eq!(states.last().unwrap(), "SENT-ACKNOWLEDGED");
    let bodies = receiver.bodies();
    let about = |id: &str| bodies.iter().rfind(|body| body["id"] == id).unwrap().clone();
    assert_eq!(about("good")["status"], "SENT");
    assert_eq!(about("lost")["status"], "FAILED");
    assert!(about("lost")["reason"].as_str().unwrap().contains("is not there"), "{}", about("lost"));
    assert!(bodies.len() >= 3, "the refused one again: {bodies:?}");
    for id in ["good", "lost"] {
        let mine: Vec<_> = bodies.iter().filter(|body| body["id"] == id).collect();
        assert!(mine.iter().all(|body| *body == mine[0]), "every attempt sends the same callback: {mine:?}");
    }
    let signed = |head: &String| head.contains("webhook-signature: v1,");
    assert!(receiver.heads().iter().all(signed), "all are signed");
    sql.close().await;
}

/// Inserts rows of another program, each with a different fault.
async fn bad_rows(base: &std::path::Path, sql: &Sql) {
    let payload = |attachment: &str| {
        format!(
            r#"{{"from": "a@example.org", "to": "b@example.org", "subject": "x", "body_text": "x", "attachments": ["{attachment}"]}}"#
        )
    };
    std::fs::write(base.join("broken.json"), &payload("x")[..40]).unwrap();
    std::fs::write(base.join("outside.json"), payload("/etc/hostname")).unwrap();
    std::fs::write(base.join("huge.json"), payload("huge.bin")).unwrap();
    std::fs::File::create(base.join("huge.bin")).unwrap().set_len(100 << 20).unwrap();
    for id in ["missing", "broken", "outside", "huge"] {
        let path = base.join(format!("{id}.json")).display().to_string();
        let cells =
            [("id", id.into()), ("status", "ACCEPTED".into()), ("payload_file_path", path.as_str().into())];
        sql.insert("emails", &cells).await;
    }
    let gone = base.join("gone.eml").display().to_string();
    let cells = [("id", "lost".into()), ("status", "READY".into()), ("eml_file_path", gone.as_str().into())];
    sql.insert("emails", &cells).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e01_an_email_passes_all_stages_on_sqlite() {
    pipeline(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e01_an_email_passes_all_stages_on_mariadb() {
    pipeline(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e01_an_email_passes_all_stages_on_postgres() {
    pipeline(Kind::Postgres).await;
}
