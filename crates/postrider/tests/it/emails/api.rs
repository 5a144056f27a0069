//! `POST /api/v1/emails`: file first, row second, and nothing remains of refused requests.

use std::time::Duration;

use super::{history, settings, wait_for_state};
use crate::sandbox::{RunningBinary, Sandbox, eventually};
use crate::support::callback_receiver::CallbackReceiver;
use crate::support::database::{Kind, Server, on_server};
use crate::support::sql::Sql;

/// POSTs a body; returns status code and answer.
fn post(running: &RunningBinary, key: &str, path: &str, kind: &str, body: &str) -> (u16, serde_json::Value) {
    post_with(running, key, path, &format!("Content-Type: {kind}"), body)
}

/// POSTs a body with headers.
fn post_with(
    running: &RunningBinary,
    key: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> (u16, serde_json::Value) {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(running.address()).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
         {headers}\r\nContent-Length: {}\r\n\r\n{body}",
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
async fn e07_the_api_accepts_payloads_and_messages_and_refuses_duplicate_ids() {
    let sandbox = Sandbox::new(None);
    let receiver = CallbackReceiver::start(0, Duration::ZERO);
    let base = sandbox.path("mnt");
    std::fs::create_dir_all(&base).unwrap();
    let text = settings("sqlite:app.db", base.to_str().unwrap(), &receiver.url);
    let text = text.replace("[server]\n", "[server]\napi = \"mail\"\n");
    let text = format!("{text}\n[lanes.intake.mail]\nsize_limit = \"1MB\"\n");
    std::fs::write(sandbox.path("postrider.toml"), text).unwrap();
    sandbox.run(&["migrate"]).success();
    let sql = Sql::sqlite(&sandbox.path("app.db"));
    let running = sandbox.start();
    let key = running.first_key();
    let json = "application/json";
    let payload =
        r#"{"id": "e-1", "from": "a@example.org", "to": "b@example.org", "subject": "x", "body_text": "x"}"#;
    let taken = eventually("the API is open", || {
        let (code, taken) = post(&running, &key, "/api/v1/emails", json, payload);
        (code != 503).then_some((code, taken))
    });
    let expected = serde_json::json!({"id": "e-1", "status": "ACCEPTED", "lane": "intake"});
    assert_eq!(taken, (202, expected));
    wait_for_state(&sql, "e-1", "SENT-ACKNOWLEDGED").await;

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
    let large =
        payload.replace("\"body_text\": \"x\"", &format!("\"body_text\": \"{}\"", "x".repeat(1_100_000)));
    let (code, body) = post(&running, &key, "/api/v1/emails", json, &large.replace("e-1", "large"));
    assert_eq!(code, 413, "what its own lane would refuse, though the other takes more: {body}");
    assert_eq!(files(&base.join("payloads")), before, "what was refused left no file");

    let message = "From: a@example.org\r\nTo: b@example.org\r\nSubject: y\r\n\r\nready\r\n";
    let (code, taken) = post(&running, &key, "/api/v1/emails?id=e-2", "message/rfc822", message);
    assert_eq!((code, &taken["status"], &taken["lane"]), (202, &"READY".into(), &"send".into()));
    wait_for_state(&sql, "e-2", "SENT-ACKNOWLEDGED").await;
    assert_eq!(history(&sql, "e-2").await[..2], ["READY", "PROCESSING"], "no intake");

    repeated_requests(&running, &key);

    // Files without a row and rows without a file are reported.
    std::fs::write(base.join("payloads/lonely.json"), "{}").unwrap();
    let gone = base.join("gone.json").display().to_string();
    let cells =
        [("id", "orphan".into()), ("status", "INVALID".into()), ("payload_file_path", gone.as_str().into())];
    sql.insert("emails", &cells).await;
    drop(running);
    sql.must("UPDATE emails SET status = 'ACCEPTED' WHERE id = 'orphan'").await;
    let output = sandbox.run(&["check", "intake"]);
    assert!(output.stdout.contains("lonely.json has no row"), "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("row orphan has no file"), "{}{}", output.stdout, output.stderr);
    assert!(!output.stdout.contains("e-1"), "a row with its file is not reported: {}", output.stdout);
    sql.close().await;
}

/// Repeated requests with one `Idempotency-Key` create one e-mail.
fn repeated_requests(running: &RunningBinary, key: &str) {
    let headers = "Content-Type: application/json\r\nIdempotency-Key: order-7";
    let body = r#"{"from": "a@example.org", "to": "b@example.org", "subject": "x", "body_text": "x"}"#;
    let (code, made) = post_with(running, key, "/api/v1/emails", headers, body);
    assert_eq!((code, made["id"].as_str().map(str::len)), (202, Some(36)), "{made}");
    assert_eq!(post_with(running, key, "/api/v1/emails", headers, body), (200, made.clone()));
    let (code, _) = post_with(running, key, "/api/v1/emails", headers, &body.replace("\"x\"", "\"y\""));
    assert_eq!(code, 409, "another request under the same key");
    concurrent_requests(running, key, &headers.replace("order-7", "order-9"), body);
    let other = headers.replace("order-7", "order-8");
    let (code, second) = post_with(running, key, "/api/v1/emails", &other, body);
    assert!(code == 202 && second["id"] != made["id"], "{second}");
}

/// Concurrent requests with one key also create one e-mail.
fn concurrent_requests(running: &RunningBinary, key: &str, headers: &str, body: &str) {
    let answers: Vec<(u16, serde_json::Value)> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| post_with(running, key, "/api/v1/emails", headers, body)))
            .collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    let taken = answers.iter().filter(|(code, _)| *code == 202).count();
    assert!(taken == 1 && answers.iter().all(|(code, _)| [200, 202].contains(code)), "{answers:?}");
    assert!(
        answers.iter().all(|(_, made)| *made == answers[0].1),
        "all answers name the same e-mail: {answers:?}"
    );
}

const JSON: &str = "application/json";

fn payload(id: &str) -> String {
    format!(
        r#"{{"id": "{id}", "from": "a@example.org", "to": "b@example.org", "subject": "x", "body_text": "x"}}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn e07_while_the_database_is_unavailable_nothing_is_accepted_and_no_file_is_left() {
    let mut server = Server::start(Kind::Postgres);
    let (url, sql) = on_server(Kind::Postgres, &server.url(), "emails", "").await;
    let sandbox = Sandbox::new(None);
    let receiver = CallbackReceiver::start(0, Duration::ZERO);
    let base = sandbox.path("mnt");
    std::fs::create_dir_all(&base).unwrap();
    let text = settings(&url, base.to_str().unwrap(), &receiver.url);
    std::fs::write(sandbox.path("postrider.toml"), text.replace("[server]\n", "[server]\napi = \"mail\"\n"))
        .unwrap();
    sandbox.run(&["migrate"]).success();
    let running = sandbox.start();
    let key = running.first_key();
    let message = "From: a@example.org\r\nTo: b@example.org\r\nSubject: y\r\n\r\nready\r\n";
    let taken = eventually("the API is open", || {
        let (code, _) = post(&running, &key, "/api/v1/emails", JSON, &payload("before"));
        (code != 503).then_some(code)
    });
    assert_eq!(taken, 202);
    wait_for_state(&sql, "before", "SENT-ACKNOWLEDGED").await;
    let folders = [base.join("payloads"), base.join("eml")];
    let before = folders.each_ref().map(|folder| files(folder));

    server.stop();
    for _ in 0..3 {
        assert_eq!(post(&running, &key, "/api/v1/emails", JSON, &payload("during")).0, 503);
        let (code, _) = post(&running, &key, "/api/v1/emails?id=during-2", "message/rfc822", message);
        assert_eq!(code, 503);
    }
    assert_eq!(folders.each_ref().map(|folder| files(folder)), before, "no file is left of them");

    server.restart();
    let taken = eventually("the API is open again", || {
        let (code, _) = post(&running, &key, "/api/v1/emails", JSON, &payload("during"));
        (code != 503).then_some(code)
    });
    assert_eq!(taken, 202, "the id was never used");
    wait_for_state(&sql, "during", "SENT-ACKNOWLEDGED").await;
    assert_eq!(files(&folders[0]), before[0] + 1);
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_is_passed_from_the_request_to_the_callback_if_there_is_a_column() {
    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for column in [true, false] {
        let sandbox = Sandbox::new(None);
        let receiver = CallbackReceiver::start(0, Duration::ZERO);
        let base = sandbox.path("mnt");
        std::fs::create_dir_all(&base).unwrap();
        let text = settings("sqlite:app.db", base.to_str().unwrap(), &receiver.url);
        let text = text.replace("[server]\n", "[server]\napi = \"mail\"\n");
        std::fs::write(sandbox.path("postrider.toml"), &text).unwrap();
        sandbox.run(&["migrate"]).success();
        let sql = Sql::sqlite(&sandbox.path("app.db"));
        if column {
            sql.must("ALTER TABLE emails ADD COLUMN traceparent varchar(255)").await;
            let named = ["intake", "send", "sent", "failed"]
                .map(|lane| format!("[lanes.{lane}.message]\ntraceparent = \"traceparent\"\n"));
            std::fs::write(sandbox.path("postrider.toml"), text + &named.concat()).unwrap();
        }
        let running = sandbox.start();
        let key = running.first_key();
        let head = format!("Content-Type: application/json\r\ntraceparent: {TRACE}");
        let payload = r#"{"id": "e-1", "from": "a@example.org", "to": "b@example.org", "subject": "x", "body_text": "x"}"#;
        let code = eventually("the API is open", || {
            Some(post_with(&running, &key, "/api/v1/emails", &head, payload).0).filter(|code| *code != 503)
        });
        assert_eq!(code, 202);
        wait_for_state(&sql, "e-1", "SENT-ACKNOWLEDGED").await;
        let body = receiver.heads().remove(0);
        assert_eq!(body.contains(&format!("traceparent: {TRACE}\r\n")), column, "{body}");
        let lines = "SELECT CAST(count(*) AS TEXT) FROM postrider_audit WHERE entity = 'email'";
        assert_eq!(sql.rows(lines).await.unwrap()[0][0].as_deref(), Some("1"), "it is in the audit log");
    }
}
