//! The e-mail pipeline, from the payload file to the acknowledged callback.

use std::time::Duration;

use crate::rig::database::{self, Kind};
use crate::rig::receiver::Receiver;
use crate::rig::sql::Sql;
use crate::rig::wait::{PATIENCE, until};
use crate::shop::{Running, Shop, eventually};

fn settings(url: &str, base: &str, callback: &str) -> String {
    let lane = |name: &str, stage: &str, more: &str| {
        format!(
            "[lanes.{name}]\ncontract = \"emails\"\nstage = \"{stage}\"\nstore = \"mail\"\npoll = \"100ms\"\n\
             retry.base = \"100ms\"\nretry.jitter = 0\n{more}\n"
        )
    };
    let files = format!("[lanes.NAME.emails]\nbase = \"{base}\"");
    let calls = format!(
        "transport = \"hooks\"\n[lanes.NAME.emails]\ncallback_url = \"{callback}\"\n\
         callback_secret = \"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3\""
    );
    [
        "[server]\nlisten = \"127.0.0.1:0\"\n".to_owned(),
        format!("[stores.mail]\nurl = \"{url}\"\n[transports.folder]\nurl = \"file:outbox\"\n"),
        "[transports.hooks]\nurl = \"webhook://?allow=127.0.0.0/8&plain_http=allowed\"\n".to_owned(),
        lane("intake", "intake", &files.replace("NAME", "intake")),
        lane("send", "send", &format!("transport = \"folder\"\n{}", files.replace("NAME", "send"))),
        lane("sent", "sent_callback", &calls.replace("NAME", "sent")),
        lane("failed", "failed_callback", &calls.replace("NAME", "failed")),
    ]
    .concat()
}

async fn state(sql: &Sql, id: &str) -> (String, String) {
    let query = format!(
        "SELECT {}, {} FROM emails WHERE id = '{id}'",
        sql.text("status"),
        sql.text("coalesce(reason, '')")
    );
    let row = sql.rows(&query).await.unwrap().remove(0);
    (row[0].clone().unwrap(), row[1].clone().unwrap_or_default())
}

async fn comes_to(sql: &Sql, id: &str, wanted: &str) -> String {
    until(&format!("{id} is {wanted}"), PATIENCE, || async move {
        let (status, reason) = state(sql, id).await;
        (status == wanted).then_some(reason)
    })
    .await
}

async fn history(sql: &Sql, id: &str) -> Vec<String> {
    let query =
        format!("SELECT {} FROM email_statuses WHERE email_id = '{id}' ORDER BY id", sql.text("status"));
    sql.rows(&query).await.unwrap().into_iter().map(|mut row| row.remove(0).unwrap()).collect()
}

async fn pipeline(kind: Kind) {
    let shop = Shop::new(None);
    let (url, sql) = database::fresh(kind, "emails", &shop).await;
    let receiver = Receiver::start(1, Duration::ZERO);
    let base = shop.path("mnt");
    std::fs::create_dir_all(&base).unwrap();
    let text = settings(&url, base.to_str().unwrap(), &receiver.url);
    std::fs::write(shop.path("postrider.toml"), text).unwrap();
    shop.run(&["migrate"]).fine();
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
        shop.run(&[&words[..], &more].concat())
    };
    send("good").fine();
    send("good").code(1);
    bad_rows(&base, &sql).await;

    let mut running = shop.start();
    for (id, why) in [
        ("missing", "is not there"),
        ("broken", "broken JSON"),
        ("outside", "not below the base folder"),
        ("huge", "at most"),
    ] {
        let reason = comes_to(&sql, id, "INVALID").await;
        assert!(reason.contains(why), "{id}: {reason}");
    }
    comes_to(&sql, "good", "SENT-ACKNOWLEDGED").await;
    comes_to(&sql, "lost", "FAILED-ACKNOWLEDGED").await;
    running.signal(rustix::process::Signal::TERM);
    assert_eq!(running.ended(Duration::from_secs(30)), Some(0), "{}", running.log());

    let eml = std::fs::read_to_string(base.join("eml/good.eml")).unwrap();
    assert!(eml.contains("Bcc: <hidden@example.net>"), "{eml}");
    let sent = std::fs::read_dir(shop.path("outbox")).unwrap().map(|file| file.unwrap().path());
    let sent: Vec<String> = sent.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert_eq!(sent.len(), 1);
    assert!(
        sent[0].contains("X-Envelope-To: <hidden@example.net>") && !sent[0].contains("\nBcc:"),
        "{}",
        sent[0]
    );
    // The first call was refused, and was made again.
    let told = history(&sql, "good").await;
    let whole = ["INTAKING", "READY", "PROCESSING", "SENT", "CALLING-SENT-CALLBACK"];
    assert_eq!(told[..5], whole);
    assert_eq!(told.last().unwrap(), "SENT-ACKNOWLEDGED");
    let bodies = receiver.bodies();
    let about = |id: &str| bodies.iter().rfind(|body| body["id"] == id).unwrap().clone();
    assert_eq!(about("good")["status"], "SENT");
    assert_eq!(about("lost")["status"], "FAILED");
    assert!(about("lost")["reason"].as_str().unwrap().contains("is not there"), "{}", about("lost"));
    assert!(bodies.len() >= 3, "the refused one again: {bodies:?}");
    let signed = |head: &String| head.contains("webhook-signature: v1,");
    assert!(receiver.heads().iter().all(signed), "all are signed");
    sql.close().await;
}

/// Rows that another program wrote, each with something wrong.
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
async fn e01_an_email_goes_all_the_way_on_sqlite() {
    pipeline(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e01_an_email_goes_all_the_way_on_mariadb() {
    pipeline(Kind::MariaDb).await;
}

/// POSTs a body; status code and answer.
fn post(running: &Running, key: &str, path: &str, kind: &str, body: &str) -> (u16, serde_json::Value) {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(running.address()).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
}

fn files(folder: &std::path::Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

#[tokio::test(flavor = "multi_thread")]
async fn e07_the_api_takes_payloads_and_messages_and_refuses_a_second_of_one_id() {
    let shop = Shop::new(None);
    let receiver = Receiver::start(0, Duration::ZERO);
    let base = shop.path("mnt");
    std::fs::create_dir_all(&base).unwrap();
    let text = settings("sqlite:app.db", base.to_str().unwrap(), &receiver.url);
    let text = text.replace("[server]\n", "[server]\napi = \"mail\"\n");
    std::fs::write(shop.path("postrider.toml"), text).unwrap();
    shop.run(&["migrate"]).fine();
    let sql = Sql::sqlite(&shop.path("app.db"));
    let running = shop.start();
    let key = eventually("the first key is shown", || {
        running.log().lines().map(str::trim).find(|line| line.starts_with("pr_")).map(str::to_owned)
    });
    let json = "application/json";
    let payload =
        r#"{"id": "e-1", "from": "a@example.org", "to": "b@example.org", "subject": "x", "body_text": "x"}"#;
    let taken = eventually("the API is open", || {
        let (code, taken) = post(&running, &key, "/api/v1/emails", json, payload);
        (code != 503).then_some((code, taken))
    });
    let expected = serde_json::json!({"id": "e-1", "status": "ACCEPTED", "lane": "intake"});
    assert_eq!(taken, (202, expected));
    comes_to(&sql, "e-1", "SENT-ACKNOWLEDGED").await;

    let before = files(&base.join("payloads"));
    assert_eq!(post(&running, &key, "/api/v1/emails", json, payload).0, 409, "the same id");
    for (path, kind, body, code) in [
        ("/api/v1/emails", json, r#"{"id": "../../etc/x"}"#, 422),
        ("/api/v1/emails?id=other", json, payload, 422),
        ("/api/v1/emails", json, "{\"id\": ", 400),
        ("/api/v1/emails", json, "[]", 422),
        ("/api/v1/emails", "text/plain", "x", 415),
        ("/api/v1/emails?lane=sent", json, payload, 404),
    ] {
        assert_eq!(post(&running, &key, path, kind, body).0, code, "{path} {kind} {body}");
    }
    assert_eq!(post(&running, "wrong", "/api/v1/emails", json, payload).0, 401);
    assert_eq!(files(&base.join("payloads")), before, "what was refused left no file");

    let message = "From: a@example.org\r\nTo: b@example.org\r\nSubject: y\r\n\r\nready\r\n";
    let (code, taken) = post(&running, &key, "/api/v1/emails?id=e-2", "message/rfc822", message);
    assert_eq!((code, &taken["status"], &taken["lane"]), (202, &"READY".into(), &"send".into()));
    comes_to(&sql, "e-2", "SENT-ACKNOWLEDGED").await;
    assert_eq!(history(&sql, "e-2").await.first().unwrap(), "PROCESSING", "no intake");

    // Files and rows that have lost each other are told.
    std::fs::write(base.join("payloads/lonely.json"), "{}").unwrap();
    let gone = base.join("gone.json").display().to_string();
    let cells =
        [("id", "bereft".into()), ("status", "INVALID".into()), ("payload_file_path", gone.as_str().into())];
    sql.insert("emails", &cells).await;
    drop(running);
    sql.must("UPDATE emails SET status = 'ACCEPTED' WHERE id = 'bereft'").await;
    let said = shop.run(&["check", "intake"]);
    assert!(said.out.contains("lonely.json has no row"), "{}{}", said.out, said.err);
    assert!(said.out.contains("row bereft has no file"), "{}{}", said.out, said.err);
    assert!(!said.out.contains("e-1"), "what belongs together is not told: {}", said.out);
    sql.close().await;
}
