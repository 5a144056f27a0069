//! Network failures: connections whose peer disappears silently, and servers that become read-only.

use std::sync::Arc;
use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::inspect::{Inspect as _, Level};
use postrider_seams::row::ClaimedRow;
use postrider_seams::store::{Class, LeaseResult, Store as _};
use postrider_services::{NewConnections, Proxy};
use postrider_store_postgres::{Database, PostgresStore, Settings};
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

async fn opened(server: &Server, url: &str) -> Arc<PostgresStore> {
    server.mail_store().await;
    opened_as_is(url).await
}

async fn opened_as_is(url: &str) -> Arc<PostgresStore> {
    let database = Database::connect(&Settings::new(url)).expect("settings");
    database.open(contract("mail_outbox"), "dispatch", "test").await.expect("open")
}

/// Opens several connections: concurrent calls use one each.
async fn fill(store: &PostgresStore) {
    let calls = (0..6).map(|_| store.paused("test"));
    for paused in futures::future::join_all(calls).await {
        assert!(!paused.expect("an answer"));
    }
}

/// Claims until the store answers; every error is transient.
async fn claimed_again(store: &PostgresStore, limit: u32) -> Vec<ClaimedRow> {
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
            server.number("SELECT count(*) FROM mail_outbox WHERE status = 'sent'").await,
            20,
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

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_are_read_only_are_away_and_are_replaced() {
    with_database(|server| async move {
        let (proxy, url) = proxied(&server);
        let store = opened(&server, &url).await;
        server.insert_mails(2).await;
        let name = server.text("SELECT current_database()").await.expect("a name");
        server.run(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;
        // A failover ends the sessions; the next ones are on a read-only server.
        proxy.cut();
        let mut read_only = 0;
        while read_only < 3 {
            let error = store.claim(10).await.expect_err("nothing can be written");
            assert_eq!(error.class, Class::Transient, "{error}");
            read_only += i32::from(error.message.contains("25006"));
        }
        let opened = proxy.accepted();
        let reset = format!("SET default_transaction_read_only = off; ALTER DATABASE {name} RESET default_transaction_read_only");
        server.run(&reset).await;
        let back = Instant::now();
        assert_eq!(claimed_again(&store, 10).await.len(), 2);
        assert!(back.elapsed() < GOES_ON, "{:?}", back.elapsed());
        assert!(proxy.accepted() > opened, "a read-only session is not used again");
    })
    .await;
}

/// Sessions on the old primary stay read-only; only new ones reach the new primary.
#[tokio::test(flavor = "multi_thread")]
async fn one_read_only_session_takes_all_stale_ones_with_it() {
    with_database(|server| async move {
        let (proxy, url) = proxied(&server);
        server.mail_store().await;
        server.insert_mails(2).await;
        let name = server.text("SELECT current_database()").await.expect("a name");
        server.run(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;
        let store = opened_as_is(&url).await;
        fill(&store).await;
        let findings = store.verify().await.expect("check runs on a replica");
        let refused =
            findings.iter().find(|finding| finding.level == Level::Error).expect("it can't run there");
        assert!(refused.text.contains("read-only: a replica"), "{}", refused.text);
        fill(&store).await;
        assert!(proxy.open() >= 4, "several stale sessions: {}", proxy.open());
        server.run(&format!("ALTER DATABASE {name} RESET default_transaction_read_only")).await;
        let error = store.claim(10).await.expect_err("a stale session");
        assert!(error.message.contains("25006"), "{error}");
        assert_eq!(store.claim(10).await.expect("a new session").len(), 2);
    })
    .await;
}
