//! Rows in unknown states: a clear warning, and the lanes keep working.

use std::time::Duration;

use super::{comes_to, seed_tables, settings, state};
use crate::rig::database::{self, Kind};
use crate::rig::receiver::Receiver;
use crate::shop::{Shop, eventually};

async fn unknown(kind: Kind) {
    let shop = Shop::new(None);
    if kind == Kind::Sqlite {
        shop.sql_creating().await.close().await;
    }
    let (url, sql) = database::fresh(kind, "emails", &shop).await;
    let receiver = Receiver::start(0, Duration::ZERO);
    let base = shop.path("mnt");
    std::fs::create_dir_all(&base).unwrap();
    let text = settings(&url, base.to_str().unwrap(), &receiver.url);
    std::fs::write(shop.path("postrider.toml"), text).unwrap();
    // Our own tables and the specification's ENUM would refuse such rows; the table of an application may not.
    seed_tables::create(kind, &sql).await;
    if kind == Kind::MariaDb {
        sql.must("ALTER TABLE emails MODIFY status VARCHAR(50) NOT NULL").await;
    }
    shop.run(&["migrate"]).fine();
    for id in ["odd-1", "odd-2"] {
        let cells =
            [("id", id.into()), ("status", "TELEPORTED".into()), ("payload_file_path", "/nowhere".into())];
        sql.insert("emails", &cells).await;
    }
    let words = ["send", "mail", "--lane", "intake", "--from", "a@example.org", "--to", "b@example.org"];
    let more = ["--subject", "x", "--text", "x", "--idempotency-key", "good"];
    shop.run(&[&words[..], &more].concat()).fine();

    let running = shop.start();
    comes_to(&sql, "good", "SENT-ACKNOWLEDGED").await;
    eventually("the log tells of them", || {
        let log = running.log();
        let warned =
            |line: &str| line.contains("WARN") && line.contains("2 of") && line.contains("TELEPORTED");
        log.lines().any(warned).then_some(())
    });
    assert_eq!(state(&sql, "odd-1").await.0, "TELEPORTED", "nobody touches them");
    let said = shop.run(&["check", "send"]);
    assert!(said.out.contains("`TELEPORTED`, which the contract does not know"), "{}{}", said.out, said.err);
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e01_an_unknown_state_is_told_and_stops_nobody_on_sqlite() {
    unknown(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e01_an_unknown_state_is_told_and_stops_nobody_on_postgres() {
    unknown(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e01_an_unknown_state_is_told_and_stops_nobody_on_mariadb() {
    unknown(Kind::MariaDb).await;
}
