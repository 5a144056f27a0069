//! Behind a connection pooler: a real PgBouncer, as Debian ships it.

use std::sync::Arc;

use postrider_contract::Transition;
use postrider_seams::inspect::Inspect as _;
use postrider_seams::migrate::{Migrate as _, Options};
use postrider_seams::row::Value;
use postrider_seams::store::{Held, Store as _, Want};
use postrider_services::{PgBouncer, PoolMode};
use postrider_sql::plain::{Arg, Plain as _, Statement};
use postrider_store_postgres::{Database, Pooler, PostgresStore, Settings};

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
    database.migration(contract("mail_outbox")).apply(Options::default()).await.expect("migrate");
    let store = database.open(contract("mail_outbox"), "dispatch", "test").await.expect("open");
    (database, store)
}

/// Claims and settles until nothing is left.
async fn drained(store: Arc<PostgresStore>) -> usize {
    let mut rows = 0;
    loop {
        let claimed = store.claim(&Want { limit: 7 }).await.expect("claim");
        if claimed.is_empty() {
            return rows;
        }
        rows += claimed.len();
        let leases: Vec<_> = claimed.iter().map(|row| row.lease.clone()).collect();
        let leases = store.extend(&leases).await.expect("extend");
        let moves: Vec<_> =
            leases.iter().flatten().map(|lease| settlement(lease, Transition::Delivered)).collect();
        assert_eq!(store.settle(&moves).await.expect("settle"), vec![Held::Held; claimed.len()]);
        store.reclaim(10).await.expect("reclaim");
        assert!(!store.paused("test").await.expect("paused"));
    }
}

async fn works(server: Server, mode: PoolMode, set: Option<Pooler>) {
    let (pooler, url) = pooler(&server, mode).await;
    let (database, first) = opened(&url, set).await;
    let (_, second) = opened(&url, set).await;
    server.insert_mails(200).await;
    // Two workers, and calls of the API beside them, over fewer server connections than they have together.
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
    api.await.expect("it answers");
    assert_eq!(rows + more, 200, "every row once");
    assert_eq!(server.number("SELECT count(*) FROM mail_outbox WHERE status = 'sent'").await, 200);
    assert!(first.lock("l", std::time::Duration::from_secs(30)).await.expect("lock"));
    assert!(!second.lock("l", std::time::Duration::from_secs(30)).await.expect("lock"));
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
