//! What the API returns about rows of a running lane: live data, and what has been sent already.

use serde_json::Value;

use super::request;
use crate::sandbox::{SQLITE, Sandbox, eventually};
use crate::support::webhook_receiver::{Reply, WebhookReceiver};

const HOOKS: &str = r#"
[server]
api = "main"
[stores.main]
url = "sqlite:app.db"
[transports.hooks]
url = "webhook://?allow=127.0.0.0/8"
[lanes.jobs]
contract = "dispatch_jobs"
poll = "50ms"
"#;

fn open(sandbox: &Sandbox) -> (crate::sandbox::RunningBinary, String) {
    sandbox.run(&["migrate"]).success();
    let running = sandbox.start();
    let key = running.first_key();
    eventually("the API is open", || {
        (request(&running, &key, "GET", "/api/v1/lanes", &Value::Null).0 == 200).then_some(())
    });
    (running, key)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j09_a_row_shows_the_open_circuit_breaker_of_its_host_and_until_when() {
    let receiver = WebhookReceiver::start(|_, _| Reply::status(500).with_body("out of order")).await;
    let sandbox = Sandbox::new(Some(HOOKS));
    let (running, key) = open(&sandbox);
    let url = receiver.url("hook");
    let send = || {
        let arguments = ["send", "webhook", &url, "--code", "a:b:c:d", "--payload", "{}"];
        sandbox.run(&arguments).success().stdout.trim().to_owned()
    };
    let ids: Vec<String> = (0..8).map(|_| send()).collect();
    let row = eventually("a row names the circuit breaker of its host", || {
        ids.iter().find_map(|id| {
            let path = format!("/api/v1/lanes/jobs/rows/{id}");
            let (_, row) = request(&running, &key, "GET", &path, &Value::Null);
            row["waiting"].as_str().is_some_and(|text| text.contains("breaker open for")).then_some(row)
        })
    });
    let text = row["waiting"].as_str().expect("words");
    let host = url.trim_start_matches("http://").split('/').next().expect("a host").to_owned();
    assert!(text.contains(&host) && text.contains("for another "), "{text}");
    assert!(row["waitingUntil"].as_str().is_some_and(|until| until.ends_with('Z')), "{row}");
    let attempted = eventually("an attempt is told as a sentence", || {
        ids.iter().find_map(|id| {
            let path = format!("/api/v1/lanes/jobs/rows/{id}");
            let (_, row) = request(&running, &key, "GET", &path, &Value::Null);
            let entries = row["timeline"].as_array()?.clone();
            entries.into_iter().find(|entry| entry["body"] == "out of order")
        })
    });
    let what = attempted["what"].as_str().expect("words");
    assert_eq!(what, format!("Attempt 1: 500 Internal Server Error from {host}"));
}

#[tokio::test]
async fn a_sent_mail_is_still_shown() {
    let sandbox = Sandbox::new(Some(&format!("{SQLITE}[server]\napi = \"main\"\n")));
    let (running, key) = open(&sandbox);
    let id = sandbox
        .run(&["send", "mail", "--to", "ada@example.net", "--subject", "Order 17", "--text", "Sent"])
        .success();
    let id = id.stdout.trim().to_owned();
    let pool = sandbox.sql().await;
    eventually("it is sent", || (sandbox.mails() == 1).then_some(()));
    // As the relay's replies leave it, per recipient.
    sqlx::query("UPDATE mail_outbox SET recipient_results = ?")
        .bind(r#"[{"address":"ada@example.net","result":"accepted","reply":"250 ok"}]"#)
        .execute(&pool)
        .await
        .unwrap();
    let row = eventually("its row says so", || {
        let (_, row) = request(&running, &key, "GET", &format!("/api/v1/lanes/mail/rows/{id}"), &Value::Null);
        (row["role"] == "delivered").then_some(row)
    });
    assert_eq!((&row["message"]["kind"], &row["message"]["subject"]), (&"mail".into(), &"Order 17".into()));
    let row = row["timeline"].as_array().expect("entries").last().expect("one").clone();
    assert_eq!((&row["what"], &row["tone"]), (&"Delivered".into(), &"good".into()));
    for file in ["mail.html", "mail.eml"] {
        let path = format!("/api/v1/lanes/mail/rows/{id}/{file}");
        assert_eq!(request(&running, &key, "GET", &path, &Value::Null).0, 200, "{file}");
    }
}

#[tokio::test]
async fn the_effective_settings_are_complete_and_hold_no_secret() {
    let settings = SQLITE.replace("file:outbox", "smtp://u5er:hunter2@127.0.0.1:1");
    let sandbox =
        Sandbox::new(Some(&format!("{settings}attempts = {{ max = 7 }}\n[server]\napi = \"main\"\n")));
    let (running, key) = open(&sandbox);
    let (_, lane) = request(&running, &key, "GET", "/api/v1/lanes/mail", &Value::Null);
    let all = lane["settings"].as_array().expect("a list");
    let value = |key: &str| all.iter().find(|one| one["key"] == key).map(|one| one["value"].clone());
    for (key, wanted) in [
        ("attempts.max", "7"),
        ("poll", "50ms"),
        ("mail.from", "shop@example.com"),
        ("stores.main.url", "sqlite:app.db"),
        ("transports.out.url", "smtp://u5er:••••••@127.0.0.1:1"),
    ] {
        assert_eq!(value(key), Some(wanted.into()), "{key} of {lane}");
    }
    for key in ["contract", "stage", "timeout", "lease.for", "retry", "claim.order", "mail.size_limit"] {
        assert!(value(key).is_some(), "{key} of {lane}");
    }
    assert!(!lane.to_string().contains("hunter2"), "{lane}");
}
