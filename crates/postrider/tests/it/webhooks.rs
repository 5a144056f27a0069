//! Webhooks with the real binary: a row is posted, and every attempt is recorded.

mod clock;
mod exhausted;
mod expiry;
mod lane;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::Signal;

use crate::sandbox::{Sandbox, eventually};

const SETTINGS: &str = r#"
[stores.main]
url = "sqlite:app.db"
[transports.hooks]
url = "webhook://?allow=127.0.0.0/8"
[lanes.jobs]
contract = "dispatch_jobs"
poll = "50ms"
sweep = "200ms"
"#;

/// A receiver that answers each request with the status in its path; returns its URL and the requests.
pub fn receiver() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, received) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut text = String::new();
            let mut buffer = [0; 4096];
            while !text.ends_with('}') {
                match stream.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(read) => text.push_str(&String::from_utf8_lossy(&buffer[..read])),
                }
            }
            let status = text.split(['/', ' ']).nth(2).unwrap_or("200").to_owned();
            let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 4\r\nconnection: close\r\n\r\ndone");
            let _ = stream.write_all(answer.as_bytes());
            if sender.send(text).is_err() {
                return;
            }
        }
    });
    (url, received)
}

#[tokio::test]
async fn j05_a_row_is_posted_and_its_attempts_are_recorded() {
    let sandbox = Sandbox::new(Some(SETTINGS));
    sandbox.run(&["migrate"]).success();
    let (url, received) = receiver();
    let send = |path: &str, more: &[&str]| {
        let url = format!("{url}/{path}");
        let mut arguments = vec!["send", "webhook", &url, "--code", "shop:orders:order:created"];
        arguments.extend(["--payload", r#"{"orderId": 1}"#]);
        arguments.extend(more);
        sandbox.run(&arguments).success().stdout.trim().to_owned()
    };
    let fine = send("200", &["--header", "X-Shop=7", "--timeout", "5"]);
    let gone = send("404", &["--envelope"]);
    let mut running = sandbox.start();
    let pool = sandbox.sql().await;
    let mut seen: Vec<String> =
        (0..2).map(|_| received.recv_timeout(Duration::from_secs(20)).unwrap()).collect();
    seen.sort();
    assert!(
        seen[0].starts_with("POST /200 HTTP/1.1\r\n") && seen[0].ends_with(r#"{"orderId": 1}"#),
        "{}",
        seen[0]
    );
    assert!(
        seen[0].contains(&format!("webhook-id: {fine}\r\n")) && seen[0].contains("x-shop: 7\r\n"),
        "{}",
        seen[0]
    );
    assert!(
        seen[1].contains(r#""specversion":"1.0""#) && seen[1].contains(r#""data":{"orderId": 1}"#),
        "{}",
        seen[1]
    );
    let query = "SELECT j.status, a.attempt_number, a.status, a.response_code, a.response_body, a.error_type \
                 FROM dispatch_jobs j JOIN dispatch_attempts a ON a.job_id = j.id WHERE j.id = ?";
    for (id, job, attempt, code, error) in
        [(&fine, "COMPLETED", "SUCCESS", 200, None), (&gone, "ERROR", "CLIENT_ERROR", 404, Some("PERMANENT"))]
    {
        let mut row = None;
        for _ in 0..800 {
            row = sqlx::query_as::<_, (String, i64, String, i64, String, Option<String>)>(query)
                .bind(id)
                .fetch_optional(&pool)
                .await
                .unwrap();
            if row.is_some() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        let expected = (job.into(), 1, attempt.into(), code, "done".into(), error.map(str::to_owned));
        assert_eq!(row, Some(expected), "{}", running.log());
    }
    running.signal(Signal::TERM);
    assert_eq!(running.ended(Duration::from_secs(20)), Some(0), "{}", running.log());
}

#[test]
fn j15_a_lane_sends_nothing_to_this_machine_unless_allowed() {
    let sandbox = Sandbox::new(Some(&SETTINGS.replace("?allow=127.0.0.0/8", "")));
    sandbox.run(&["migrate"]).success();
    let (url, received) = receiver();
    sandbox.run(&["send", "webhook", &url, "--code", "a:b:c:d", "--payload", "{}"]).success();
    let running = sandbox.start();
    eventually("the job is dead", || {
        let output = sandbox.run(&["list", "jobs", "--state", "DEAD", "--json"]).success();
        (output.stdout.lines().count() == 1).then_some(())
    });
    assert!(received.try_recv().is_err());
    drop(running);
}

/// Runs a `secret` command with this input on stdin.
fn secret(sandbox: &Sandbox, command: &str, key: &str, input: &str) -> (bool, String, String) {
    let mut child = sandbox
        .command(&["secret", command])
        .env("POSTRIDER_SECRET_KEY", key)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[test]
fn j11_secrets_are_encrypted_used_and_reencrypted() {
    let sandbox = Sandbox::new(None);
    let old = sandbox.run(&["secret", "key", "old"]).success().stdout.trim().to_owned();
    let new = sandbox.run(&["secret", "key", "new"]).success().stdout.trim().to_owned();
    let (fine, sealed, _) = secret(&sandbox, "encrypt", &old, "file:elsewhere\n");
    assert!(fine && sealed.starts_with("encrypted://"), "{sealed}");
    let (fine, anew, _) = secret(&sandbox, "reencrypt", &format!("{new} {old}"), &sealed);
    assert!(fine && anew.starts_with("encrypted://") && anew != sealed, "{anew}");
    // The whole URL of the transport is the secret here.
    let settings = format!(
        "[stores.main]\nurl = \"sqlite:app.db\"\n[transports.out]\nurl = \"{anew}\"\n[mail]\nfrom = \"a@example.com\"\n[lanes.mail]\ncontract = \"mail_outbox\"\n"
    );
    std::fs::write(sandbox.path("postrider.toml"), settings).unwrap();
    sandbox.run_with(&["migrate"], &[("POSTRIDER_SECRET_KEY", &new)]).success();
    let output = sandbox.run_with(&["migrate"], &[("POSTRIDER_SECRET_KEY", &old)]).code(2);
    assert!(
        output.stderr.contains("transports.out.url") && output.stderr.contains("\"new\""),
        "{}",
        output.stderr
    );
    let (fine, out, err) = secret(&sandbox, "encrypt", "nonsense", "hunter2");
    assert!(
        !fine && out.is_empty() && !err.contains("hunter2") && err.contains("postrider secret key"),
        "{err}"
    );
}

/// The example of the README: the only setting allows this machine as a target.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_webhook_is_delivered_on_the_built_in_settings_within_a_minute() {
    use crate::support::webhook_receiver::{Reply, WebhookReceiver};
    let receiver = WebhookReceiver::start(|_, _| Reply::status(200)).await;
    let sandbox = Sandbox::new(None);
    let begun = std::time::Instant::now();
    let allowed = [("POSTRIDER__TRANSPORTS__WEBHOOKS__ALLOW", "127.0.0.0/8")];
    let running = sandbox.start_with("run.log", &allowed);
    eventually("it runs", || (running.log().contains("running")).then_some(()));
    let made = sandbox
        .run_with(&["account", "create", "shop", "--host", "127.0.0.1"], &allowed)
        .success()
        .json()
        .remove(0);
    let (id, secret) = (made["id"].as_str().unwrap(), made["signingSecret"].as_str().unwrap());
    let url = receiver.url("hook");
    let send = ["send", "webhook", &url, "--code", "shop:orders:order:created", "--account", id];
    let sent =
        sandbox.run_with(&[&send[..], &["--payload", r#"{"orderId": 1}"#]].concat(), &allowed).success();
    let request = eventually("it arrives", || receiver.requests_of(sent.stdout.trim()).pop());
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
    assert!(lane::is_genuine(&request, secret).await, "{request:?}");
    let key = std::fs::metadata(sandbox.path("postrider.key")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&key.permissions()) & 0o777, 0o600);
    assert!(!running.log().contains(secret));
}
