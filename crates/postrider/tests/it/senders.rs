//! Several senders combined, with the real binary: a failing provider, and a folder as fallback.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use crate::sandbox::{SQLITE, Sandbox, count, eventually_count};

/// A provider that gives every request this answer; and the idempotency keys that it received.
pub fn provider(answer: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let keys: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&keys);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            let text = loop {
                let read = stream.read(&mut buffer).unwrap_or(0);
                request.extend_from_slice(&buffer[..read]);
                let text = String::from_utf8_lossy(&request).to_ascii_lowercase();
                let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
                let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
                let length: usize =
                    length.and_then(|length| length.trim().parse().ok()).unwrap_or(usize::MAX);
                if read == 0 || body.len() >= length {
                    break text;
                }
            };
            if let Some(key) = text.split("idempotency-key: ").nth(1).and_then(|rest| rest.lines().next()) {
                seen.lock().unwrap().push(key.trim().to_owned());
            }
            let head = format!("HTTP/1.1 {answer}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
            stream.write_all(head.as_bytes()).unwrap();
        }
    });
    (url, keys)
}

fn sandbox(endpoint: &str, senders: &str) -> Sandbox {
    let senders = format!(
        "[transports.resend]\nurl = \"resend://\"\nkey = \"env://KEY\"\nendpoint = \"{endpoint}\"\n\
         [transports.both]\nurl = \"reliable:\"\nsenders = [{senders}]\nwaits = [\"0s\", \"10ms\"]\n[mail]"
    );
    let settings =
        SQLITE.replace("[mail]", &senders).replace("[lanes.mail]", "[lanes.mail]\ntransport = \"both\"");
    let sandbox = Sandbox::new(Some(&settings.replace("env://KEY", "re_hush")));
    sandbox.run(&["migrate"]).success();
    sandbox
}

#[tokio::test(flavor = "multi_thread")]
async fn n02_a_failing_provider_costs_no_attempt_while_another_sender_works() {
    let (endpoint, keys) = provider("500 Oops");
    let sandbox = sandbox(&endpoint, "\"resend\", \"out\"");
    let pool = sandbox.sql().await;
    sandbox.insert(&pool, "ann@example.com").await;
    let running = sandbox.start();
    eventually_count(&pool, "sent", 1).await;
    assert_eq!(sandbox.mails(), 1);
    let tries: i64 =
        sqlx::query_scalar("SELECT retry_count FROM mail_outbox").fetch_one(&pool).await.unwrap();
    assert_eq!(tries, 0);
    let keys = keys.lock().unwrap().clone();
    assert!(keys.len() == 2 && keys[0] == keys[1], "two tries with the same key: {keys:?}");
    assert!(!running.log().contains("re_hush"));
}

#[tokio::test(flavor = "multi_thread")]
async fn g03_a_wrong_key_pauses_the_lane_and_costs_nothing() {
    let (endpoint, _) = provider("401 Who are you");
    let sandbox = sandbox(&endpoint, "\"resend\"");
    let pool = sandbox.sql().await;
    sandbox.insert(&pool, "ann@example.com").await;
    let running = sandbox.start();
    crate::sandbox::eventually("the lane says so", || {
        let (code, body) = running.get("/readyz");
        (code == 503 && body.contains("401")).then_some(())
    });
    assert_eq!(count(&pool, "sent").await + count(&pool, "failed").await, 0);
    let tries: i64 =
        sqlx::query_scalar("SELECT retry_count FROM mail_outbox").fetch_one(&pool).await.unwrap();
    assert_eq!(tries, 0);
}
