//! Network failures: connections whose peer disappears silently, and servers that become read-only.

use std::sync::Arc;
use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::inspect::{Inspect as _, Level};
use postrider_seams::row::ClaimedRow;
use postrider_seams::store::{Class, LeaseResult, Store as _};
use postrider_services::{NewConnections, Proxy};
use postrider_store_mysql::{Database, MysqlStore, Settings};
use tokio::time::Instant;

use crate::server::{Server, contract, settlement, with_database};

/// Time within which the store works again after its connections were lost.
const GOES_ON: Duration = Duration::from_secs(10);

/// A proxy to the test's server, and the URL through it.
pub fn proxied(server: &Server) -> (Proxy, String) {
    let (before, rest) = server.url.split_once("127.0.0.1:").expect("the server is on this host");
    let (port, after) = rest.split_once('/').expect("the URL names a database");
    let target = ([127, 0, 0, 1], port.parse::<u16>().expect("a port")).into();
    let proxy = Proxy::start(target).expect("a proxy");
    let url = format!("{before}127.0.0.1:{}/{after}", proxy.port());
    (proxy, url)
}

async fn opened(server: &Server, url: &str) -> Arc<MysqlStore> {
    server.mail_store().await;
    let database = Database::connect(&Settings::new(url)).expect("settings");
    database.open(contract("mail_outbox"), "dispatch", "test").await.expect("open")
}

/// Opens several connections: concurrent calls use one each.
async fn fill(store: &MysqlStore) {
    let calls = (0..6).map(|_| store.paused("test"));
    for paused in futures::future::join_all(calls).await {
        assert!(!paused.expect("an answer"));
    }
}

/// Claims until the store answers; every error is transient.
async fn claimed_again(store: &MysqlStore, limit: u32) -> Vec<ClaimedRow> {
    loop {
        match store.claim(limit).await {
            Ok(rows) => return rows,
            Err(error) => assert_eq!(error.class, Class::Transient, "{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn half_open_connections_are_dropped_and_the_store_goes_on() {
    with_database(|server| async move {
        let (proxy, url) = proxied(&server);
        let store = opened(&server, &url).await;
        server.insert_mails(20).await;
        let before = store.claim(10).await.expect("claim");
        fill(&store).await;
        proxy.freeze();
        let lost = Instant::now();
        // Every call ends, and the first one that moves rows reconnects: no idle connection is tried.
        let moves: Vec<_> = before.iter().map(|row| settlement(&row.lease, Transition::Delivered)).collect();
        let settled = async {
            loop {
                match store.settle(&moves).await {
                    Ok(held) => return held,
                    Err(error) => assert_eq!(error.class, Class::Transient, "{error}"),
                }
            }
        };
        let maintained = async {
            tokio::join!(
                store.reclaim(10),
                store.purge(10),
                store.lag(),
                store.lock("l", GOES_ON),
                store.next_due()
            )
        };
        let ((held, after), _) =
            tokio::join!(async { tokio::join!(settled, claimed_again(&store, 10)) }, maintained);
        assert_eq!(held, [LeaseResult::Held; 10]);
        assert_eq!(after.len(), 10);
        let after: Vec<_> = after.iter().map(|row| settlement(&row.lease, Transition::Delivered)).collect();
        assert_eq!(store.settle(&after).await.expect("settle"), [LeaseResult::Held; 10]);
        assert_eq!(
            server.text("SELECT COUNT(*) FROM mail_outbox WHERE status = 'sent'").await.as_deref(),
            Some("20"),
            "every row once"
        );
        // Maintenance may wait longer, but not forever.
        assert!(lost.elapsed() < Duration::from_secs(45), "{:?}", lost.elapsed());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_whose_server_vanished_goes_on_within_ten_seconds() {
    with_database(|server| async move {
        let (proxy, url) = proxied(&server);
        let store = opened(&server, &url).await;
        server.insert_mails(20).await;
        fill(&store).await;
        proxy.freeze();
        let lost = Instant::now();
        assert_eq!(claimed_again(&store, 10).await.len(), 10);
        assert!(lost.elapsed() < GOES_ON, "{:?}", lost.elapsed());
        // New connections fail as well, for a while.
        proxy.black_hole();
        let error = store.claim(10).await.expect_err("nobody answers");
        assert_eq!(error.class, Class::Transient, "{error}");
        let claim = tokio::spawn(async move { claimed_again(&store, 10).await.len() });
        tokio::task::yield_now().await;
        proxy.new_connections(NewConnections::Forward);
        let back = Instant::now();
        assert_eq!(claim.await.expect("it claims"), 10);
        assert!(back.elapsed() < GOES_ON, "{:?}", back.elapsed());
    })
    .await;
}

/// Uses a separate server: read-only is a global setting.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_read_only_is_away_and_its_sessions_are_replaced() {
    use sqlx::{Connection as _, Executor as _};
    let own = tokio::task::spawn_blocking(|| {
        postrider_services::MariaDb::start(postrider_services::Durability::ProcessCrash)
    });
    let own = own.await.expect("it does not panic").expect("a server");
    let mut root = sqlx::MySqlConnection::connect(&own.url()).await.expect("root");
    for statement in [
        "CREATE DATABASE d",
        "CREATE USER 'plain'@'%' IDENTIFIED BY 'p'",
        "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, INDEX, ALTER ON d.* TO 'plain'@'%'",
    ] {
        root.execute(statement).await.expect(statement);
    }
    let proxy = Proxy::start(([127, 0, 0, 1], own.port()).into()).expect("a proxy");
    let url = format!("mysql://plain:p@127.0.0.1:{}/d", proxy.port());
    let database = Database::connect(&Settings::new(&url)).expect("settings");
    let migration = database.migration(contract("mail_outbox"));
    postrider_seams::migrate::Migrate::apply(
        &*migration,
        postrider_seams::migrate::MigrateOptions::default(),
    )
    .await
    .expect("migrate");
    let store = database.open(contract("mail_outbox"), "dispatch", "test").await.expect("open");
    root.execute(
        "INSERT INTO d.mail_outbox (to_addresses, subject, body_text, status, next_attempt_at, created_at) \
         VALUES ('[\"a@example.org\"]', 's', 't', 'queued', '2001-01-01', '2001-01-01')",
    )
    .await
    .expect("a mail");
    root.execute("SET GLOBAL read_only = 1").await.expect("read-only");
    let opened = proxy.accepted();
    for tries in 1..=3 {
        let error = store.claim(10).await.expect_err("nothing can be written");
        assert!(error.class == Class::Transient && error.message.contains("1290"), "{error}");
        assert!(proxy.accepted() >= opened + tries - 1, "a read-only session is not used again");
    }
    let findings = store.verify().await.expect("check runs on a replica");
    let refused = findings.iter().find(|finding| finding.level == Level::Error).expect("it can't run there");
    assert!(refused.text.contains("read-only: a replica"), "{}", refused.text);
    root.execute("SET GLOBAL read_only = 0").await.expect("writable");
    let back = Instant::now();
    let claimed = claimed_again(&store, 10).await;
    assert_eq!(claimed.len(), 1);
    assert!(back.elapsed() < GOES_ON, "{:?}", back.elapsed());

    // Sessions on the old primary stay read-only; only new ones reach the new primary.
    root.execute("SET GLOBAL tx_read_only = 1").await.expect("read-only sessions");
    let database = Database::connect(&Settings::new(url)).expect("settings");
    let stale = database.open(contract("mail_outbox"), "dispatch", "test").await.expect("open");
    let before = proxy.open();
    // On a busy machine a call may end before the next one begins, and leave it its session.
    for _ in 0..20 {
        fill(&stale).await;
        if proxy.open() >= before + 3 {
            break;
        }
    }
    assert!(proxy.open() >= before + 3, "several stale sessions: {}", proxy.open());
    root.execute("SET GLOBAL tx_read_only = 0").await.expect("writable sessions");
    let moves: Vec<_> = claimed.iter().map(|row| settlement(&row.lease, Transition::Delivered)).collect();
    let error = stale.settle(&moves).await.expect_err("a stale session");
    assert!(error.class == Class::Transient && error.message.contains("1792"), "{error}");
    assert_eq!(stale.settle(&moves).await.expect("a new session"), [LeaseResult::Held]);
}
