//! Secrets that a target repeats in its answers appear in no row, log, `/readyz` or output of a command.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::api::request;
use crate::sandbox::{SQLITE, Sandbox, eventually, eventually_count};
use crate::support::sql::{Cell, Sql};
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::webhook_receiver::{Reply, WebhookReceiver};

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

fn sandbox(provider: (&str, &str), endpoint: &str) -> Sandbox {
    let transport = format!(
        "[transports.provider]\nurl = \"{}\"\n{}key = \"env://PROVIDER_KEY\"\nendpoint = \"{endpoint}\"\n[mail]",
        provider.0, provider.1
    );
    let settings = SQLITE
        .replace("[mail]", &transport)
        .replace("[lanes.mail]", "[lanes.mail]\ntransport = \"provider\"");
    let sandbox = Sandbox::new(Some(&settings));
    sandbox.run_with(&["migrate"], &[("PROVIDER_KEY", KEY)]).success();
    sandbox
}

#[track_caller]
fn assert_no_key(place: &str, text: &str) {
    let plain = STANDARD.encode(KEY);
    for form in [KEY, ENCODED, plain.trim_end_matches('=')] {
        assert!(!text.contains(form), "{place} holds the key: {text}");
    }
    // `api:KEY`, as it is sent to Mailgun.
    let login = STANDARD.encode(format!("api:{KEY}"));
    assert!(!text.contains(&login[8..20]), "{place} holds the key: {text}");
}

async fn row(sandbox: &Sandbox) -> String {
    let row: (String, Option<String>, Option<String>) =
        sqlx::query_as("SELECT status, last_error, recipient_results FROM mail_outbox")
            .fetch_one(&sandbox.sql().await)
            .await
            .unwrap();
    format!("{row:?}")
}

#[tokio::test(flavor = "multi_thread")]
async fn g07_a_key_that_a_provider_repeats_is_in_no_row_log_or_answer() {
    for provider in PROVIDERS {
        let sandbox = sandbox(provider, &echo("422 No"));
        let pool = sandbox.sql().await;
        sandbox.insert(&pool, "ann@example.com").await;
        let running = sandbox.start_with("info", &[("PROVIDER_KEY", KEY)]);
        eventually_count(&pool, "failed", 1).await;
        let row = row(&sandbox).await;
        assert!(row.contains("[redacted]"), "{}: the answer is kept: {row}", provider.0);
        assert_no_key("the row", &row);
        let listed = sandbox.run_with(&["list", "mail", "--json"], &[("PROVIDER_KEY", KEY)]).success();
        assert_no_key("list", &listed.stdout);
        assert_no_key("the log", &running.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn g07_a_key_that_a_provider_repeats_in_a_refusal_is_not_in_readyz() {
    for provider in PROVIDERS {
        let sandbox = sandbox(provider, &echo("401 Who are you"));
        let pool = sandbox.sql().await;
        sandbox.insert(&pool, "ann@example.com").await;
        let running = sandbox.start_with("info", &[("PROVIDER_KEY", KEY)]);
        let ready = eventually("the lane reports the refusal", || {
            let (code, body) = running.get("/readyz");
            (code == 503 && body.contains("401")).then_some(body)
        });
        assert_no_key("/readyz", &ready);
        assert_no_key("the log", &running.log());
        let checked = sandbox.run_with(&["check"], &[("PROVIDER_KEY", KEY)]);
        assert_no_key("check", &format!("{}{}", checked.stdout, checked.stderr));
        assert_no_key("the row", &row(&sandbox).await);
    }
}

/// A relay that repeats what AUTH brought: in its refusal of us, or of each recipient.
fn echoing_relay(refuses_us: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || repeat_logins(stream, refuses_us));
        }
    });
    port
}

fn repeat_logins(stream: TcpStream, refuses_us: bool) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let mut login = String::new();
    let mut answer = "220 relay.test".to_owned();
    loop {
        stream.get_mut().write_all(format!("{answer}\r\n").as_bytes()).ok()?;
        let mut line = String::new();
        (stream.read_line(&mut line).ok()? > 0).then_some(())?;
        answer = match line.split_whitespace().next()? {
            "EHLO" => "250-relay.test\r\n250 AUTH PLAIN".to_owned(),
            "AUTH" => {
                line.split_whitespace().last()?.clone_into(&mut login);
                let code = if refuses_us { "535 5.7.8" } else { "235 2.7.0" };
                format!("{code} {KEY} {ENCODED} {login}")
            }
            "RCPT" => format!("550 5.1.1 {KEY} {ENCODED} {login} may not send here"),
            _ => "250 ok".to_owned(),
        };
    }
}

fn sandbox_with_relay(refuses_us: bool) -> Sandbox {
    let transport = format!(
        "[transports.relay]\nurl = \"smtp://127.0.0.1:{}?tls=none&allow_plaintext_auth=true\"\nuser = \"shop\"\n\
         password = \"env://PROVIDER_KEY\"\n[mail]",
        echoing_relay(refuses_us)
    );
    let settings =
        SQLITE.replace("[mail]", &transport).replace("[lanes.mail]", "[lanes.mail]\ntransport = \"relay\"");
    let sandbox = Sandbox::new(Some(&settings));
    sandbox.run_with(&["migrate"], &[("PROVIDER_KEY", KEY)]).success();
    sandbox
}

#[track_caller]
fn assert_no_login(place: &str, text: &str) {
    assert_no_key(place, text);
    // As AUTH PLAIN sends it; the first letters are of the user.
    let login = STANDARD.encode(format!("\0shop\0{KEY}"));
    assert!(!text.contains(&login[12..24]), "{place} holds the password: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn g07_a_password_that_a_relay_repeats_is_in_no_row_log_or_answer() {
    let sandbox = sandbox_with_relay(false);
    let pool = sandbox.sql().await;
    sandbox.insert(&pool, "ann@example.com").await;
    let running = sandbox.start_with("info", &[("PROVIDER_KEY", KEY)]);
    eventually_count(&pool, "failed", 1).await;
    let row = row(&sandbox).await;
    assert!(row.contains("[redacted]") && row.contains("550 5.1.1"), "the answer is kept: {row}");
    assert_no_login("the row", &row);
    let listed = sandbox.run_with(&["list", "mail", "--json"], &[("PROVIDER_KEY", KEY)]).success();
    assert_no_login("list", &listed.stdout);
    assert_no_login("the log", &running.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn g07_a_password_that_a_relay_repeats_in_a_refusal_is_not_in_readyz() {
    let sandbox = sandbox_with_relay(true);
    let pool = sandbox.sql().await;
    sandbox.insert(&pool, "ann@example.com").await;
    let running = sandbox.start_with("info", &[("PROVIDER_KEY", KEY)]);
    let ready = eventually("the lane reports the refusal", || {
        let (code, body) = running.get("/readyz");
        (code == 503 && body.contains("535")).then_some(body)
    });
    assert_no_login("/readyz", &ready);
    assert_no_login("the log", &running.log());
    let checked = sandbox.run_with(&["check"], &[("PROVIDER_KEY", KEY)]);
    assert_no_login("check", &format!("{}{}", checked.stdout, checked.stderr));
    assert_no_login("the row", &row(&sandbox).await);
}

const JOBS: &str = r#"
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

/// A job that is taken, and one that is refused; the receiver repeats the token in both answers.
const TAKEN: &str = "0HZXEQ5Y8JY11";
const REFUSED: &str = "0HZXEQ5Y8JY22";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g07_a_token_that_a_receiver_repeats_is_in_no_row_attempt_log_or_answer() {
    let receiver = WebhookReceiver::start(|request, _| {
        let token = request.header("authorization");
        let status = if request.path.ends_with("taken") { 200 } else { 422 };
        let text = format!("echo {token} {ENCODED} {}", STANDARD.encode(KEY));
        Reply::status(status).with(&format!("x-echo: {token}")).with_body(&text)
    })
    .await;
    let sandbox = Sandbox::new(Some(JOBS));
    sandbox.run(&["migrate"]).success();
    std::fs::write(sandbox.path("token"), KEY).unwrap();
    let account = ["account", "create", "shop", "--host", "*", "--bearer", "file://token"];
    let account = sandbox.run(&account).success().json()[0]["id"].as_str().unwrap().to_owned();
    let sql = Sql::sqlite(&sandbox.path("app.db"));
    for (id, path) in [(TAKEN, "taken"), (REFUSED, "refused")] {
        let url = receiver.url(path);
        let texts: [(&str, &str); 5] = [
            ("id", id),
            ("code", "a:b:c:d"),
            ("target_url", &url),
            ("payload", "{}"),
            ("service_account_id", &account),
        ];
        let cells = texts.map(|(column, text)| (column, Cell::from(text)));
        sql.insert("dispatch_jobs", &cells).await;
    }
    let running = sandbox.start();
    let key = running.first_key();
    for (id, state) in [(TAKEN, "COMPLETED"), (REFUSED, "ERROR")] {
        let shown = wait_until(&format!("{id} is {state}"), TIMEOUT, || async {
            let path = format!("/api/v1/dispatch-jobs/{id}");
            let (_, job) = request(&running, &key, "GET", &path, &serde_json::Value::Null);
            (job["status"] == state && job["attempts"][0].is_object()).then_some(job)
        })
        .await;
        let answer = shown["attempts"][0]["responseBody"].as_str().unwrap_or_default();
        assert!(answer.contains("echo") && answer.contains("[redacted]"), "the answer is kept: {shown}");
        assert_no_key("the API", &shown.to_string());
        let command = sandbox.run(&["show", "jobs", id, "--json"]).success();
        assert_no_key("show", &command.stdout);
        assert_eq!(receiver.requests_of(id)[0].header("authorization"), format!("Bearer {KEY}"));
    }
    assert_no_key("the log", &running.log());
    drop(running);
    sql.close().await;
    // Every table, and what was not yet moved from the log of writes.
    for file in ["app.db", "app.db-wal"] {
        let bytes = std::fs::read(sandbox.path(file)).unwrap_or_default();
        assert_no_key(file, &String::from_utf8_lossy(&bytes));
    }
}
