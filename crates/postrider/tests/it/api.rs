//! The API of the real binary: its tables, its first key, and the endpoints that need no key.

mod flood;
mod memory;
mod rows;
mod search;

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::sandbox::{RunningBinary, SQLITE, Sandbox, eventually};

const WITH_API: &str = "[server]\napi = \"main\"\nmetrics = \"key\"\n";

pub fn request(running: &RunningBinary, key: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut stream = std::net::TcpStream::connect(running.address()).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
}

#[tokio::test]
async fn the_first_key_is_in_a_separate_file_and_authenticates() {
    let sandbox = Sandbox::new(Some(&format!("{SQLITE}{WITH_API}")));
    let printed = sandbox.run(&["migrate", "--print"]);
    assert!(printed.stdout.contains("CREATE TABLE IF NOT EXISTS postrider_api_keys"), "{}", printed.stdout);
    sandbox.run(&["migrate"]).success();
    let running = sandbox.start();
    let key = running.first_key();
    let file = std::fs::metadata(sandbox.path("postrider-admin.key")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    let job = json!({"code": "a", "targetUrl": "https://example.com/hook", "payload": "{}"});
    let made = eventually("the API is open", || {
        let (code, made) = request(&running, &key, "POST", "/api/v1/dispatch-jobs", &job);
        (code == 201).then_some(made)
    });
    let pool = sandbox.sql().await;
    let row: (String, String) =
        sqlx::query_as("SELECT id, status FROM dispatch_jobs").fetch_one(&pool).await.unwrap();
    assert_eq!((row.0.as_str(), row.1.as_str()), (made["id"].as_str().unwrap(), "QUEUED"));
    let (code, lanes) = request(&running, &key, "GET", "/api/v1/lanes", &Value::Null);
    assert_eq!((code, lanes["items"][0]["name"].as_str()), (200, Some("mail")));
    assert_eq!(request(&running, &key, "POST", "/api/v1/lanes/mail/pause", &Value::Null).0, 200);
    eventually("the lane pauses", || {
        let (_, lanes) = request(&running, &key, "GET", "/api/v1/lanes", &Value::Null);
        (lanes["items"][0]["health"] == "paused").then_some(())
    });
    for (path, open) in [
        ("/healthz", true),
        ("/readyz", true),
        ("/api/reference", true),
        ("/api/openapi.json", true),
        ("/metrics", false),
        ("/api/v1/lanes", false),
        ("/api/v1/anything", false),
    ] {
        let (code, _) = running.get(path);
        assert_eq!(code, if open { 200 } else { 401 }, "{path}");
    }
    assert_eq!(request(&running, &key, "GET", "/metrics", &Value::Null).0, 200);
    let second = sandbox.start_with_log("second.log");
    let (code, _) = eventually("the API is open", || {
        Some(request(&second, &key, "GET", "/api/v1/dispatch-jobs", &Value::Null))
            .filter(|(code, _)| *code != 503)
    });
    assert_eq!(code, 200);
    for log in [running.log(), second.log()] {
        assert!(!log.contains("pr_"), "the key is in no log: {log}");
    }
    assert!(running.log().contains("postrider-admin.key"), "the log names the file: {}", running.log());
}

#[tokio::test]
async fn keys_are_created_listed_and_revoked_on_the_command_line() {
    let sandbox = Sandbox::new(Some(&format!("{SQLITE}{WITH_API}")));
    sandbox.run(&["migrate"]).success();
    let made = sandbox.run(&["key", "create", "shop", "--role", "producer", "--client", "acme"]).success();
    let key = made.stdout.trim().to_owned();
    assert!(key.starts_with("pr_"), "{key}");
    let running = sandbox.start();
    running.first_key();
    let job = |client: &str| json!({"code": "a", "targetUrl": "https://example.com/", "clientId": client});
    eventually("the API is open", || {
        (request(&running, &key, "POST", "/api/v1/dispatch-jobs", &job("acme")).0 == 201).then_some(())
    });
    assert_eq!(request(&running, &key, "POST", "/api/v1/dispatch-jobs", &job("other")).0, 403);
    let listed = sandbox.run(&["key", "list", "--json"]).success();
    assert!(!listed.stdout.contains(&key), "a list shows no key");
    let lines = listed.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let shown = lines.into_iter().find(|one| one["name"] == "shop").unwrap();
    assert_eq!((shown["role"].as_str(), &shown["clientIds"]), (Some("producer"), &json!(["acme"])));
    assert!(sandbox.run(&["key", "list"]).success().stdout.contains("producer"));
    sandbox.run(&["key", "revoke", shown["id"].as_str().unwrap()]).success();
    // Another process revoked it: this one uses its last lookup for a second.
    eventually("the key is refused", || {
        (request(&running, &key, "GET", "/api/v1/dispatch-jobs", &Value::Null).0 == 401).then_some(())
    });
    let wrong = sandbox.run(&["key", "create", "x", "--role", "admin", "--expires-at", "tomorrow"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
}

#[test]
fn a_missing_store_is_reported() {
    let sandbox = Sandbox::new(Some(&format!("{SQLITE}{}", WITH_API.replace("main", "mian"))));
    let output = sandbox.run(&["check"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("server.api") && output.stderr.contains("main"), "{}", output.stderr);
}
