//! The effect of a receiver's enhanced status code on a row of each mail contract, and on the suppression list.

use super::{PAYLOAD, insert_notification, settings, wait_until_settled};
use crate::sandbox::Sandbox;
use crate::support::relay::Relay;
use crate::support::sql::Sql;
use crate::support::wait::{TIMEOUT, wait_until};

/// The reply to RCPT, whether the address is then suppressed, and the result of the notification.
const CODES: [(&str, bool, &str); 8] = [
    ("550=5.1.1", true, "skipped"),
    ("550=5.1.2", true, "skipped"),
    ("556=5.1.10", true, "skipped"),
    ("550=5.2.1", true, "skipped"),
    ("550=5.7.1", false, "failed"),
    ("550=5.7.26", false, "failed"),
    ("554=5.7.0", false, "failed"),
    ("552=5.2.2", false, "failed"),
];

/// The other mail contracts on the same database; `emails` with fallback senders.
const OTHERS: &str = r#"
transport = "mails"
[transports.both]
url = "reliable:"
senders = ["mails"]
waits = ["0s"]
[lanes.mail]
contract = "mail_outbox"
transport = "mails"
[lanes.intake]
contract = "emails"
stage = "intake"
emails.base = "BASE"
[lanes.send]
contract = "emails"
stage = "send"
transport = "both"
emails.base = "BASE"
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n05_m09_codes_of_a_missing_mailbox_end_the_row_and_suppress_the_address() {
    let sandbox = Sandbox::new(None);
    let relay = Relay::shared();
    std::fs::create_dir_all(sandbox.path("mnt")).expect("the folder can be made");
    let text = settings("sqlite:app.db").replace("file:mails", &format!("smtp://{}", relay.address))
        + &OTHERS.replace("BASE", &sandbox.path("mnt").display().to_string());
    std::fs::write(sandbox.path("postrider.toml"), text).expect("the settings can be written");
    sandbox.run(&["migrate"]).success();
    let sql = Sql::sqlite(&sandbox.path("app.db"));
    let mark = format!("{:08x}", rand::random::<u32>());
    let address = |code: &str, lane: &str| format!("rcpt-{code}-{lane}-{mark}@example.com");
    for (at, (code, ..)) in CODES.iter().enumerate() {
        insert_notification(&sql, at + 1, &address(code, "notify"), PAYLOAD, "").await;
        let to = address(code, "mail");
        let words = ["send", "mail", "--subject", &mark, "--text", "hi"];
        sandbox.run(&[&words[..], &["--lane", "mail", "--to", &to]].concat()).success();
        let to = address(code, "emails");
        sandbox
            .run(&[&words[..], &["--lane", "intake", "--from", "a@example.org", "--to", &to]].concat())
            .success();
    }
    let running = sandbox.start();
    wait_until_settled(&sql).await;
    wait_until("every mail failed", TIMEOUT, || async {
        let mails = sql.count("mail_outbox WHERE status = 'failed' AND retry_count = 1").await?;
        let emails =
            sql.count("emails WHERE status = 'FAILED' AND reason LIKE '%as the address asked%'").await?;
        (mails + emails == 2 * CODES.len() as u64).then_some(())
    })
    .await;
    let query = "SELECT fanout_status, CAST(fanout_attempts AS TEXT), json_extract(error, '$.code'), \
                 json_extract(error, '$.message') FROM open_event_notifications ORDER BY subscription_id";
    let rows = sql.rows(query).await.expect("the table can be read");
    for (row, (code, _, status)) in rows.iter().zip(&CODES) {
        let text: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("-")).collect();
        assert_eq!(text[..3], [*status, "1", "invalid_recipient"], "{code}: {text:?}");
        let enhanced = code.split('=').next_back().expect("a reply has an enhanced code");
        assert!(text[3].contains(enhanced), "{code}: {text:?}");
    }
    let mut expected: Vec<String> = CODES
        .iter()
        .filter(|(_, listed, _)| *listed)
        .flat_map(|(code, ..)| ["emails", "mail", "notify"].map(|lane| address(code, lane)))
        .collect();
    expected.sort();
    let output = sandbox.run(&["suppress", "list", "--json"]).success();
    let listed: Vec<String> =
        output.json().iter().map(|entry| entry["entry"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(listed, expected);
    drop(running);
}
