//! A log line names the lane, the row and the attempt, as text and as JSON, and holds no secret.

use postrider_services::{SmtpOptions, SmtpServer};

use crate::sandbox::{RunningBinary, Sandbox, eventually};

const PASSWORD: &str = "hunter2-very-secret";

/// A relay that requires a password, and a lane that has it.
fn sandbox() -> (SmtpServer, Sandbox) {
    let options = SmtpOptions { login: Some(("shop".into(), PASSWORD.into())), ..SmtpOptions::default() };
    let relay = tokio::task::block_in_place(|| SmtpServer::start(&options)).expect("the SMTP server starts");
    let sandbox = Sandbox::new(Some(&format!(
        "[stores.main]\nurl = \"sqlite:app.db\"\n[transports.relay]\nurl = \"smtp://{}\"\n\
         user = \"shop\"\npassword = \"{PASSWORD}\"\ntls = \"none\"\nallow_plaintext_auth = true\n\
         [mail]\nfrom = \"shop@example.com\"\n[lanes.mail]\ncontract = \"mail_outbox\"\npoll = \"50ms\"\n",
        relay.address()
    )));
    sandbox.run(&["migrate"]).success();
    (relay, sandbox)
}

/// The log line about a delivery that the relay refuses.
async fn line(sandbox: &Sandbox, running: &RunningBinary) -> (i64, String) {
    let sql = sandbox.sql().await;
    let id = sandbox.insert(&sql, "rcpt-550-ann@example.net").await;
    sql.close().await;
    let line = eventually("the failure is in the log", || {
        running.log().lines().find(|line| line.contains("not delivered")).map(str::to_owned)
    });
    (id, line)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_delivery_is_a_line_of_text_with_lane_row_and_attempt() {
    let (_relay, sandbox) = sandbox();
    let running = sandbox.start();
    let (id, line) = line(&sandbox, &running).await;
    for part in [&format!("row={id}"), "lane=\"mail\"", "attempt=1", "transition=", "reason="] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
    assert!(!running.log().contains(PASSWORD));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_delivery_is_a_line_of_json_with_lane_row_and_attempt() {
    let (_relay, sandbox) = sandbox();
    let running = sandbox.start_with("run.log", &[("POSTRIDER_LOG_FORMAT", "json"), ("RUST_LOG", "debug")]);
    let (id, line) = line(&sandbox, &running).await;
    let entry: serde_json::Value = serde_json::from_str(&line).expect("every line is JSON");
    assert_eq!(entry["lane"], "mail");
    assert_eq!(entry["row"].to_string().trim_matches('"'), id.to_string());
    assert_eq!(entry["attempt"], 1);
    assert!(entry["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{entry}");
    assert_eq!(entry["level"], "INFO");
    assert!(!running.log().contains(PASSWORD), "not even at debug level");
}
