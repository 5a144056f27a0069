//! Accepted bodies whose content needs many times their size, if it is not bounded.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use super::flood::assert_bounded_memory;
use super::{WITH_API, request};
use crate::sandbox::{RunningBinary, SQLITE, Sandbox, eventually};

/// Sends a body as it is, and returns the status and the answer.
fn send(running: &RunningBinary, key: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = std::net::TcpStream::connect(running.address()).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    (text.split(' ').nth(1).unwrap().parse().unwrap(), text)
}

fn started(settings: &str) -> (Sandbox, RunningBinary, String) {
    let sandbox = Sandbox::new(Some(settings));
    sandbox.run(&["migrate"]).success();
    let running = sandbox.start();
    let key = running.first_key();
    eventually("the API is open", || {
        (request(&running, &key, "GET", "/api/v1/lanes", &Value::Null).0 == 200).then_some(())
    });
    (sandbox, running, key)
}

#[tokio::test]
async fn millions_of_entries_or_members_need_little_memory() {
    let (_sandbox, running, key) = started(&format!("{SQLITE}{WITH_API}"));
    let zeros = vec!["0"; 15 << 20].join(",");
    let (code, answer) =
        send(&running, &key, "/api/v1/dispatch-jobs/batch", &format!("{{\"jobs\":[{zeros}]}}"));
    assert!(code == 422 && answer.contains("must have 1 to 1000 entries"), "{code} {answer}");
    let (code, answer) = send(&running, &key, "/api/v1/events/batch", &format!("[{zeros}]"));
    assert!(code == 422 && answer.contains("must have 1 to 1000 entries"), "{code} {answer}");
    drop(zeros);
    let members: Vec<String> = (0..2_200_000).map(|number| format!("\"m{number:x}\":0,")).collect();
    let members = members.concat();
    let entry = format!("{{\"data\":{{{members}\"last\":0}}}}");
    for (path, body) in [
        ("/api/v1/dispatch-jobs/batch", format!("{{\"jobs\":[{entry}]}}")),
        ("/api/v1/events/batch", format!("[{entry}]")),
    ] {
        let (code, answer) = send(&running, &key, path, &body);
        assert!(code == 413 && answer.contains("must have at most"), "{path}: {code} {answer}");
    }
    assert_bounded_memory(&running, "entries and members");
}

#[tokio::test]
async fn an_event_with_many_subscriptions_needs_little_memory() {
    let (sandbox, running, key) = started(&format!("{SQLITE}{WITH_API}"));
    for number in 0..150 {
        let subscription = json!({
            "code": format!("s{number}"), "name": "s", "eventCode": "shop:sales:order:*", "targetUrl": "https://example.com/",
        });
        let (code, answer) = request(&running, &key, "POST", "/api/v1/subscriptions", &subscription);
        assert_eq!(code, 201, "{answer}");
    }
    let event = json!({
        "specversion": "1.0", "id": "1", "source": "/shop", "type": "shop:sales:order:created", "data": "x".repeat(1_000_000),
    });
    let (code, answer) = request(&running, &key, "POST", "/api/v1/events", &event);
    assert_eq!(code, 201, "{answer}");
    assert_eq!(answer["jobIds"].as_array().map(Vec::len), Some(150));
    assert_bounded_memory(&running, "an event of 1 MB with 150 jobs");
    let pool = sandbox.sql().await;
    let (count, bytes): (i64, i64) =
        sqlx::query_as("SELECT count(*), min(length(payload)) FROM dispatch_jobs")
            .fetch_one(&pool)
            .await
            .unwrap();
    assert_eq!((count, bytes), (150, 1_000_002));
}
