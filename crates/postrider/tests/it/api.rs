//! The API of the real binary: its tables, its first key, and the endpoints that need no key.

mod flood;
mod rows;
mod search;

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::shop::{Running, SQLITE, Shop, eventually};

const WITH_API: &str = "[server]\napi = \"main\"\nmetrics = \"key\"\n";

pub fn asked(running: &Running, key: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
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
async fn the_first_key_is_in_a_file_of_its_own_and_opens_the_api() {
    let shop = Shop::new(Some(&format!("{SQLITE}{WITH_API}")));
    let printed = shop.run(&["migrate", "--print"]);
    assert!(printed.out.contains("CREATE TABLE IF NOT EXISTS postrider_api_keys"), "{}", printed.out);
    shop.run(&["migrate"]).fine();
    let running = shop.start();
    let key = running.first_key();
    let file = std::fs::metadata(shop.path("postrider-admin.key")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    let job = json!({"code": "a", "targetUrl": "https://example.com/hook", "payload": "{}"});
    let made = eventually("the API is open", || {
        let (code, made) = asked(&running, &key, "POST", "/api/v1/dispatch-jobs", &job);
        (code == 201).then_some(made)
    });
    let pool = shop.sql().await;
    let row: (String, String) =
        sqlx::query_as("SELECT id, status FROM dispatch_jobs").fetch_one(&pool).await.unwrap();
    assert_eq!((row.0.as_str(), row.1.as_str()), (made["id"].as_str().unwrap(), "QUEUED"));
    let (code, lanes) = asked(&running, &key, "GET", "/api/v1/lanes", &Value::Null);
    assert_eq!((code, lanes["items"][0]["name"].as_str()), (200, Some("mail")));
    assert_eq!(asked(&running, &key, "POST", "/api/v1/lanes/mail/pause", &Value::Null).0, 200);
    eventually("the lane pauses", || {
        let (_, lanes) = asked(&running, &key, "GET", "/api/v1/lanes", &Value::Null);
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
    assert_eq!(asked(&running, &key, "GET", "/metrics", &Value::Null).0, 200);
    let second = shop.start_logged("second.log");
    let (code, _) = eventually("the API is open", || {
        Some(asked(&second, &key, "GET", "/api/v1/dispatch-jobs", &Value::Null))
            .filter(|(code, _)| *code != 503)
    });
    assert_eq!(code, 200);
    for log in [running.log(), second.log()] {
        assert!(!log.contains("pr_"), "the key is in no log: {log}");
    }
    assert!(running.log().contains("postrider-admin.key"), "the log names the file: {}", running.log());
}

#[tokio::test]
async fn keys_are_made_listed_and_revoked_at_the_command_line() {
    let shop = Shop::new(Some(&format!("{SQLITE}{WITH_API}")));
    shop.run(&["migrate"]).fine();
    let made = shop.run(&["key", "create", "shop", "--role", "producer", "--client", "acme"]).fine();
    let key = made.out.trim().to_owned();
    assert!(key.starts_with("pr_"), "{key}");
    let running = shop.start();
    running.first_key();
    let job = |client: &str| json!({"code": "a", "targetUrl": "https://example.com/", "clientId": client});
    eventually("the API is open", || {
        (asked(&running, &key, "POST", "/api/v1/dispatch-jobs", &job("acme")).0 == 201).then_some(())
    });
    assert_eq!(asked(&running, &key, "POST", "/api/v1/dispatch-jobs", &job("other")).0, 403);
    let listed = shop.run(&["key", "list", "--json"]).fine();
    assert!(!listed.out.contains(&key), "a list shows no key");
    let lines = listed.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let shown = lines.into_iter().find(|one| one["name"] == "shop").unwrap();
    assert_eq!((shown["role"].as_str(), &shown["clientIds"]), (Some("producer"), &json!(["acme"])));
    assert!(shop.run(&["key", "list"]).fine().out.contains("producer"));
    shop.run(&["key", "revoke", shown["id"].as_str().unwrap()]).fine();
    assert_eq!(asked(&running, &key, "GET", "/api/v1/dispatch-jobs", &Value::Null).0, 401);
    let wrong = shop.run(&["key", "create", "x", "--role", "admin", "--expires-at", "tomorrow"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);
}

#[test]
fn a_store_that_is_not_there_is_told() {
    let shop = Shop::new(Some(&format!("{SQLITE}{}", WITH_API.replace("main", "mian"))));
    let said = shop.run(&["check"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("server.api") && said.err.contains("main"), "{}", said.err);
}
