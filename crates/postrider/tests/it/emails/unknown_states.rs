//! Rows in unknown states: a clear warning, and the lanes keep working.

use std::time::Duration;

use super::{settings, specification_tables, state, wait_for_state};
use crate::sandbox::{Sandbox, eventually};
use crate::support::callback_receiver::CallbackReceiver;
use crate::support::database::{self, Kind};

async fn unknown_state_is_reported(kind: Kind) {
    let sandbox = Sandbox::new(None);
    if kind == Kind::Sqlite {
        sandbox.sql_creating().await.close().await;
    }
    let (url, sql) = database::fresh(kind, "emails", &sandbox).await;
    let receiver = CallbackReceiver::start(0, Duration::ZERO);
    let base = sandbox.path("mnt");
    std::fs::create_dir_all(&base).unwrap();
    let text = settings(&url, base.to_str().unwrap(), &receiver.url);
    std::fs::write(sandbox.path("postrider.toml"), text).unwrap();
    // Our own tables and the specification's ENUM would refuse such rows; the table of an application may not.
    specification_tables::create(kind, &sql).await;
    if kind == Kind::MariaDb {
        sql.must("ALTER TABLE emails MODIFY status VARCHAR(50) NOT NULL").await;
    }
    sandbox.run(&["migrate"]).success();
    for id in ["odd-1", "odd-2"] {
        let cells =
            [("id", id.into()), ("status", "TELEPORTED".into()), ("payload_file_path", "/nowhere".into())];
        sql.insert("emails", &cells).await;
    }
    let words = ["send", "mail", "--lane", "intake", "--from", "a@example.org", "--to", "b@example.org"];
    let more = ["--subject", "x", "--text", "x", "--idempotency-key", "good"];
    sandbox.run(&[&words[..], &more].concat()).success();

    let running = sandbox.start();
    wait_for_state(&sql, "good", "SENT-ACKNOWLEDGED").await;
    eventually("the log reports them", || {
        let log = running.log();
        let warned =
            |line: &str| line.contains("WARN") && line.contains("2 of") && line.contains("TELEPORTED");
        log.lines().any(warned).then_some(())
    });
    assert_eq!(state(&sql, "odd-1").await.0, "TELEPORTED", "they are not changed");
    let output = sandbox.run(&["check", "send"]);
    assert!(
        output.stdout.contains("`TELEPORTED`, which the contract does not know"),
        "{}{}",
        output.stdout,
        output.stderr
    );
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e01_an_unknown_state_is_reported_and_stops_no_lane_on_sqlite() {
    unknown_state_is_reported(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e01_an_unknown_state_is_reported_and_stops_no_lane_on_postgres() {
    unknown_state_is_reported(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e01_an_unknown_state_is_reported_and_stops_no_lane_on_mariadb() {
    unknown_state_is_reported(Kind::MariaDb).await;
}
