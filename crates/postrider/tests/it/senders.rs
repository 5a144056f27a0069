//! Several senders combined, with the real binary: a failing provider, and a folder as fallback.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use crate::shop::{SQLITE, Shop, count, eventually_count};

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

fn shop(endpoint: &str, senders: &str) -> Shop {
    let senders = format!(
        "[transports.resend]\nurl = \"resend://\"\nkey = \"env://KEY\"\nendpoint = \"{endpoint}\"\n\
         [transports.both]\nurl = \"reliable:\"\nsenders = [{senders}]\nwaits = [\"0s\", \"10ms\"]\n[mail]"
    );
    let settings =
        SQLITE.replace("[mail]", &senders).replace("[lanes.mail]", "[lanes.mail]\ntransport = \"both\"");
    let shop = Shop::new(Some(&settings.replace("env://KEY", "re_hush")));
    shop.run(&["migrate"]).fine();
    shop
}

#[tokio::test(flavor = "multi_thread")]
async fn n2_a_provider_that_is_ill_costs_no_attempt_while_another_sender_is_well() {
    let (endpoint, keys) = provider("500 Oops");
    let shop = shop(&endpoint, "\"resend\", \"out\"");
    let pool = shop.sql().await;
    shop.insert(&pool, "ann@example.com").await;
    let running = shop.start();
    eventually_count(&pool, "sent", 1).await;
    assert_eq!(shop.mails(), 1);
    let tries: i64 =
        sqlx::query_scalar("SELECT retry_count FROM mail_outbox").fetch_one(&pool).await.unwrap();
    assert_eq!(tries, 0);
    let keys = keys.lock().unwrap().clone();
    assert!(keys.len() == 2 && keys[0] == keys[1], "two tries with the same key: {keys:?}");
    assert!(!running.log().contains("re_hush"));
}

#[tokio::test(flavor = "multi_thread")]
async fn g3_a_wrong_key_pauses_the_lane_and_costs_nothing() {
    let (endpoint, _) = provider("401 Who are you");
    let shop = shop(&endpoint, "\"resend\"");
    let pool = shop.sql().await;
    shop.insert(&pool, "ann@example.com").await;
    let running = shop.start();
    crate::shop::eventually("the lane says so", || {
        let (code, body) = running.get("/readyz");
        (code == 503 && body.contains("401")).then_some(())
    });
    assert_eq!(count(&pool, "sent").await + count(&pool, "failed").await, 0);
    let tries: i64 =
        sqlx::query_scalar("SELECT retry_count FROM mail_outbox").fetch_one(&pool).await.unwrap();
    assert_eq!(tries, 0);
}
