//! Behind a connection pooler: a real PgBouncer, as Debian ships it.

use std::sync::Arc;
use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::inspect::Inspect as _;
use postrider_seams::migrate::{Migrate as _, MigrateOptions};
use postrider_seams::row::Value;
use postrider_seams::store::{LeaseResult, Store as _};
use postrider_services::{PgBouncer, PoolMode};
use postrider_sql::driver::execute::{Arg, Execute as _, Statement};
use postrider_store_postgres::{Database, Pooler, PostgresStore, Settings};
use tokio::time::Instant;

use crate::server::{Server, contract, settlement, with_database};

async fn pooler(server: &Server, mode: PoolMode) -> (PgBouncer, String) {
    let (before, rest) = server.url.split_once("127.0.0.1:").expect("the server is on this host");
    let (port, database) = rest.split_once('/').expect("the URL names a database");
    let port = port.parse().expect("a port");
    let started = tokio::task::spawn_blocking(move || PgBouncer::start(port, mode)).await;
    let pooler = started.expect("it does not panic").expect("PgBouncer starts");
    let url = format!("{before}127.0.0.1:{}/{database}", pooler.port());
    (pooler, url)
}

async fn opened(url: &str, mode: Option<Pooler>) -> (Database, Arc<PostgresStore>) {
    let database = Database::connect(&Settings { pooler: mode, ..Settings::new(url) }).expect("settings");
    database.migration(contract("mail_outbox")).apply(MigrateOptions::default()).await.expect("migrate");
    let store = database.open(contract("mail_outbox"), "dispatch", "test").await.expect("open");
    (database, store)
}

/// Claims and settles until no row is left.
async fn drained(store: Arc<PostgresStore>) -> usize {
    let mut rows = 0;
    loop {
        let claimed = store.claim(7).await.expect("claim");
        if claimed.is_empty() {
            return rows;
        }
        rows += claimed.len();
        let leases: Vec<_> = claimed.iter().map(|row| row.lease.clone()).collect();
        let leases = store.extend(&leases).await.expect("extend");
        let moves: Vec<_> =
            leases.iter().flatten().map(|lease| settlement(lease, Transition::Delivered)).collect();
        assert_eq!(store.settle(&moves).await.expect("settle"), vec![LeaseResult::Held; claimed.len()]);
        store.reclaim(10).await.expect("reclaim");
        assert!(!store.paused("test").await.expect("paused"));
    }
}

async fn works(server: Server, mode: PoolMode, set: Option<Pooler>) {
    let (pooler, url) = pooler(&server, mode).await;
    let (database, first) = opened(&url, set).await;
    let (_, second) = opened(&url, set).await;
    server.insert_mails(200).await;
    // Two workers, and concurrent API calls, with fewer server connections than clients.
    let api = tokio::spawn(async move {
        for _ in 0..50 {
            let sql = "SELECT current_setting('TimeZone'), count(*) FROM mail_outbox WHERE subject <> $1"
                .to_owned();
            let statement = Statement { sql, args: vec![Arg::Text(Some("x".into()))] };
            let answers =
                database.transact("count", &[statement.clone(), statement]).await.expect("an answer");
            assert_eq!(answers[1].rows[0], [Value::Text("UTC".into()), Value::Int(200)]);
        }
    });
    let one = tokio::spawn(drained(Arc::clone(&first)));
    let (rows, more) = (drained(Arc::clone(&second)).await, one.await.expect("it drains"));
    api.await.expect("the API task does not panic");
    assert_eq!(rows + more, 200, "every row once");
    assert_eq!(server.number("SELECT count(*) FROM mail_outbox WHERE status = 'sent'").await, 200);
    assert!(first.lock("l", Duration::from_secs(30)).await.expect("lock"));
    assert!(!second.lock("l", Duration::from_secs(30)).await.expect("lock"));
    let findings = first.verify().await.expect("check");
    assert!(!findings.is_empty());
    let log = pooler.log().expect("a log");
    assert!(!log.contains("prepared statement"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_pooler_is_found_and_works() {
    with_database(|server| works(server, PoolMode::Transaction, None)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_pooler_that_was_set_works() {
    with_database(|server| works(server, PoolMode::Transaction, Some(Pooler::Transaction))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_pooler_works_as_found_and_as_set() {
    with_database(|server| works(server, PoolMode::Session, None)).await;
    with_database(|server| works(server, PoolMode::Session, Some(Pooler::Session))).await;
}

/// A store behind the pooler, on a table with the notification trigger.
async fn notified(settings: &Settings) -> Arc<PostgresStore> {
    let database = Database::connect(settings).expect("settings");
    let options = MigrateOptions { notify: true, ..MigrateOptions::default() };
    database.migration(contract("mail_outbox")).apply(options).await.expect("migrate");
    database.open(contract("mail_outbox"), "dispatch", "test").await.expect("open")
}

/// The finding of `check` about wake-ups.
async fn said_of_waking(store: &PostgresStore) -> String {
    let findings = store.verify().await.expect("check");
    let found = findings.into_iter().find(|finding| finding.text.starts_with("new rows"));
    found.expect("check says how new rows are found").text
}

async fn is_woken_by_an_insert(server: &Server, store: &PostgresStore) -> bool {
    // The first wake-up only means that LISTEN is active.
    store.wake(Instant::now() + Duration::from_secs(10)).await;
    let writer = server.clone();
    let writer = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        writer.insert_mails(1).await;
    });
    let started = Instant::now();
    store.wake(started + Duration::from_secs(8)).await;
    writer.await.expect("the writer");
    started.elapsed() < Duration::from_secs(5)
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_transaction_pooler_a_lane_polls_and_check_names_listen_url() {
    with_database(|server| async move {
        let (_pooler, url) = pooler(&server, PoolMode::Transaction).await;
        for mode in [None, Some(Pooler::Transaction)] {
            let store = notified(&Settings { pooler: mode, ..Settings::new(&url) }).await;
            assert!(!store.capabilities().notifies, "{mode:?}");
            let said = said_of_waking(&store).await;
            assert!(
                said.contains("listen_url") && !said.contains("postrider migrate"),
                "the trigger is there: {said}"
            );
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listen_url_leads_past_a_transaction_pooler() {
    with_database(|server| async move {
        let (_pooler, url) = pooler(&server, PoolMode::Transaction).await;
        let settings = Settings { listen_url: Some(server.url.clone()), ..Settings::new(&url) };
        let store = notified(&settings).await;
        assert!(store.capabilities().notifies);
        assert_eq!(said_of_waking(&store).await, "new rows wake the lane at once");
        assert!(is_woken_by_an_insert(&server, &store).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_pooler_lets_notifications_through() {
    with_database(|server| async move {
        let (_pooler, url) = pooler(&server, PoolMode::Session).await;
        let store = notified(&Settings { pooler: Some(Pooler::Session), ..Settings::new(&url) }).await;
        assert!(store.capabilities().notifies);
        assert!(is_woken_by_an_insert(&server, &store).await);
    })
    .await;
}
