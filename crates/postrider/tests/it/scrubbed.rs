//! Secrets that a target repeats in its answers appear in no row, log, `/readyz` or output of a command.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::shop::{SQLITE, Shop, eventually, eventually_count};

const KEY: &str = "SG.hush-hush+7/Zk2==";
const ENCODED: &str = "SG.hush-hush%2B7%2FZk2%3D%3D";

/// A provider that repeats the whole request, the key included, in every field that errors of providers have.
fn echo(status: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            let head = loop {
                let read = stream.read(&mut buffer).unwrap_or(0);
                request.extend_from_slice(&buffer[..read]);
                let text = String::from_utf8_lossy(&request).into_owned();
                let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
                let length = head.to_ascii_lowercase();
                let length = length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
                let length = length.map_or(usize::MAX, |length| length.trim().parse().unwrap());
                if read == 0 || body.len() >= length {
                    break head.to_owned();
                }
            };
            let lines = head.lines().filter(|line| {
                let line = line.to_ascii_lowercase();
                line.starts_with("authorization: b") || line.starts_with("x-postmark")
            });
            let headers: Vec<&str> = lines.collect();
            let text = format!("echo {KEY} {ENCODED} {} {headers:?}", STANDARD.encode(KEY));
            let body = json!({
                "message": text, "Message": text, "ErrorCode": 300, "name": text, "error": text, "__type": text,
                "errors": [{ "message": text, "field": text }],
            })
            .to_string();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    url
}

/// The URL of each provider, and the options next to it.
const PROVIDERS: [(&str, &str); 5] = [
    ("sendgrid://", ""),
    ("postmark://", ""),
    ("mailgun://example.com", ""),
    ("resend://", ""),
    ("ses://eu-central-1", "user = \"AKIAEXAMPLE\"\n"),
];

fn shop(provider: (&str, &str), endpoint: &str) -> Shop {
    let transport = format!(
        "[transports.provider]\nurl = \"{}\"\n{}key = \"env://PROVIDER_KEY\"\nendpoint = \"{endpoint}\"\n[mail]",
        provider.0, provider.1
    );
    let settings = SQLITE
        .replace("[mail]", &transport)
        .replace("[lanes.mail]", "[lanes.mail]\ntransport = \"provider\"");
    let shop = Shop::new(Some(&settings));
    shop.run_with(&["migrate"], &[("PROVIDER_KEY", KEY)]).fine();
    shop
}

#[track_caller]
fn holds_no_key(place: &str, text: &str) {
    let plain = STANDARD.encode(KEY);
    for form in [KEY, ENCODED, plain.trim_end_matches('=')] {
        assert!(!text.contains(form), "{place} holds the key: {text}");
    }
    // `api:KEY`, as it is sent to Mailgun.
    let login = STANDARD.encode(format!("api:{KEY}"));
    assert!(!text.contains(&login[8..20]), "{place} holds the key: {text}");
}

async fn row(shop: &Shop) -> String {
    let row: (String, Option<String>, Option<String>) =
        sqlx::query_as("SELECT status, last_error, recipient_results FROM mail_outbox")
            .fetch_one(&shop.sql().await)
            .await
            .unwrap();
    format!("{row:?}")
}

#[tokio::test(flavor = "multi_thread")]
async fn g7_a_key_that_a_provider_repeats_is_in_no_row_log_or_answer() {
    for provider in PROVIDERS {
        let shop = shop(provider, &echo("422 No"));
        let pool = shop.sql().await;
        shop.insert(&pool, "ann@example.com").await;
        let running = shop.start_with("info", &[("PROVIDER_KEY", KEY)]);
        eventually_count(&pool, "failed", 1).await;
        let row = row(&shop).await;
        assert!(row.contains("[redacted]"), "{}: the answer is kept: {row}", provider.0);
        holds_no_key("the row", &row);
        let listed = shop.run_with(&["list", "mail", "--json"], &[("PROVIDER_KEY", KEY)]).fine();
        holds_no_key("list", &listed.out);
        holds_no_key("the log", &running.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn g7_a_key_that_a_provider_repeats_in_a_refusal_is_not_in_readyz() {
    for provider in PROVIDERS {
        let shop = shop(provider, &echo("401 Who are you"));
        let pool = shop.sql().await;
        shop.insert(&pool, "ann@example.com").await;
        let running = shop.start_with("info", &[("PROVIDER_KEY", KEY)]);
        let ready = eventually("the lane reports the refusal", || {
            let (code, body) = running.get("/readyz");
            (code == 503 && body.contains("401")).then_some(body)
        });
        holds_no_key("/readyz", &ready);
        holds_no_key("the log", &running.log());
        let checked = shop.run_with(&["check"], &[("PROVIDER_KEY", KEY)]);
        holds_no_key("check", &format!("{}{}", checked.out, checked.err));
        holds_no_key("the row", &row(&shop).await);
    }
}
