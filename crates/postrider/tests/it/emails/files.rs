//! Purged rows, and the removal of their files.

use std::time::Duration;

use super::{settings, wait_for_state};
use crate::sandbox::{RunningBinary, Sandbox};
use crate::support::callback_receiver::CallbackReceiver;
use crate::support::database::{self, Kind};
use crate::support::wait::{TIMEOUT, wait_until};

const OFF: &str = "";
const ON: &str = "retention.SENT-ACKNOWLEDGED = \"1d\"\nsweep = \"200ms\"\n";

fn write_settings(sandbox: &Sandbox, url: &str, base: &str, callback: &str, retention: &str) {
    let text = settings(url, base, callback)
        .replace("retry.jitter = 0\n", &format!("retry.jitter = 0\n{retention}"));
    let text = match retention {
        OFF => text,
        _ => text.replacen(
            "[lanes.intake.emails]\n",
            "[lanes.intake.emails]\nremove_files_after = \"1m\"\n",
            1,
        ),
    };
    std::fs::write(sandbox.path("postrider.toml"), text).unwrap();
}

fn accept(sandbox: &Sandbox, id: &str) {
    let words = ["send", "mail", "--lane", "intake", "--from", "a@example.org", "--to", "b@example.org"];
    let more = ["--subject", "x", "--text", "x", "--idempotency-key", id];
    sandbox.run(&[&words[..], &more].concat()).success();
}

fn stop(mut running: RunningBinary) {
    running.signal(rustix::process::Signal::TERM);
    assert_eq!(running.ended(Duration::from_secs(30)), Some(0), "{}", running.log());
}

/// The payload and message files of an e-mail.
fn files_of(base: &std::path::Path, id: &str) -> Vec<std::path::PathBuf> {
    let folders = ["payloads", "eml"].map(|folder| base.join(folder));
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mine = |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(id);
    entries.map(|entry| entry.unwrap().path()).filter(mine).collect()
}

fn set_age(path: &std::path::Path, by: Duration) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let written = file.metadata().unwrap().modified().unwrap();
    file.set_modified(written - by).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn g06_rows_are_kept_by_default_and_files_are_removed_after_their_row_and_the_grace_time() {
    let sandbox = Sandbox::new(None);
    let (url, sql) = database::fresh(Kind::MariaDb, "emails", &sandbox).await;
    let receiver = CallbackReceiver::start(0, Duration::ZERO);
    let base = sandbox.path("mnt");
    std::fs::create_dir_all(&base).unwrap();
    let base_text = base.to_str().unwrap().to_owned();
    write_settings(&sandbox, &url, &base_text, &receiver.url, OFF);
    sandbox.run(&["migrate"]).success();
    for id in ["old", "young", "fresh"] {
        accept(&sandbox, id);
    }
    let running = sandbox.start();
    for id in ["old", "young", "fresh"] {
        wait_for_state(&sql, id, "SENT-ACKNOWLEDGED").await;
        assert_eq!(files_of(&base, id).len(), 2, "payload and message of {id}");
    }
    // All rows are old, but no retention is set.
    for id in ["old", "fresh"] {
        let past = "UTC_TIMESTAMP() - INTERVAL 2 DAY";
        sql.must(&format!("UPDATE emails SET created_at = {past}, updated_at = {past} WHERE id = '{id}'"))
            .await;
    }
    for id in ["old", "young"] {
        for path in files_of(&base, id) {
            set_age(&path, Duration::from_hours(48));
        }
    }
    stop(running);
    assert_eq!(sql.count("emails").await, Some(3), "off by default");

    // A row may name its file by another path to the base.
    let way = sandbox.path("other-way");
    std::os::unix::fs::symlink(&base, &way).unwrap();
    std::fs::write(base.join("payloads/alias.json"), "{}").unwrap();
    set_age(&base.join("payloads/alias.json"), Duration::from_hours(48));
    let named = way.join("payloads/alias.json").display().to_string();
    let cells =
        [("id", "other".into()), ("status", "INVALID".into()), ("payload_file_path", named.as_str().into())];
    sql.insert("emails", &cells).await;

    write_settings(&sandbox, &url, &base_text, &receiver.url, ON);
    let running = sandbox.start();
    wait_until("the old rows are purged", TIMEOUT, || async {
        (sql.count("emails WHERE id IN ('old', 'fresh')").await? == 0).then_some(())
    })
    .await;
    assert_eq!(
        sql.count("email_statuses WHERE email_id IN ('old', 'fresh')").await,
        Some(0),
        "with their history"
    );
    assert_eq!(sql.count("emails").await, Some(2), "the young row stays, and the one with no retention");
    stop(running);
    // The sweep of files runs once at the start.
    let running = sandbox.start();
    wait_until("the old row's files are gone", TIMEOUT, || async {
        files_of(&base, "old").is_empty().then_some(())
    })
    .await;
    assert_eq!(files_of(&base, "young").len(), 2, "old files of a row that is there");
    assert_eq!(files_of(&base, "alias").len(), 1, "however the row spells the folder");
    assert_eq!(files_of(&base, "fresh").len(), 2, "within the grace time, although their row is gone");
    stop(running);
    let output = sandbox.run(&["check", "intake"]);
    assert!(
        output.stdout.contains("fresh.") && output.stdout.contains("has no row"),
        "{}{}",
        output.stdout,
        output.stderr
    );
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e07_the_lane_waits_for_a_missing_base_folder_and_never_creates_it() {
    let sandbox = Sandbox::new(None);
    let (url, sql) = database::fresh(Kind::MariaDb, "emails", &sandbox).await;
    let receiver = CallbackReceiver::start(0, Duration::ZERO);
    let base = sandbox.path("mnt");
    std::fs::write(sandbox.path("postrider.toml"), settings(&url, base.to_str().unwrap(), &receiver.url))
        .unwrap();
    sandbox.run(&["migrate"]).success();
    for lane in ["intake", "send"] {
        let output = sandbox.run(&["check", lane]);
        assert!(
            output.stdout.contains("does not exist: check that its file system is mounted"),
            "{}{}",
            output.stdout,
            output.stderr
        );
    }
    for (id, status, column) in [("in", "ACCEPTED", "payload_file_path"), ("out", "READY", "eml_file_path")] {
        let path = base.join(format!("{id}.file")).display().to_string();
        sql.insert("emails", &[("id", id.into()), ("status", status.into()), (column, path.as_str().into())])
            .await;
    }
    let running = sandbox.start();
    wait_until("the missing folder is reported", TIMEOUT, || async {
        let log = running.log();
        (log.contains("No such file or directory")).then_some(())
    })
    .await;
    // `send` claims the row, finds no folder and hands it back; intake is not ready and claims nothing.
    wait_until("the mail that is ready was handed back", TIMEOUT, || async {
        (super::history(&sql, "out").await.last()? == "READY").then_some(())
    })
    .await;
    assert_eq!(super::state(&sql, "in").await.0, "ACCEPTED");
    assert!(!base.exists(), "on another disk than the one that is missing");

    std::fs::create_dir(&base).unwrap();
    let payload = r#"{"from": "a@example.org", "to": "b@example.org", "subject": "x", "body_text": "x"}"#;
    std::fs::write(base.join("in.file"), payload).unwrap();
    wait_for_state(&sql, "in", "SENT-ACKNOWLEDGED").await;
    drop(running);
    sql.close().await;
}
