use std::time::Duration;

use postrider_seams::migrate::{Migrate as _, MigrateOptions};
use postrider_seams::store::Store as _;
use tokio::time::Instant;

use crate::server::{contract, with_database};

#[tokio::test(flavor = "multi_thread")]
async fn a_new_row_wakes_the_lane_where_the_trigger_is() {
    with_database(|server| async move {
        let database = server.database();
        database
            .migration(contract("mail_outbox"))
            .apply(MigrateOptions { notify: true, ..MigrateOptions::default() })
            .await
            .expect("migrate");
        let store = database.open(contract("mail_outbox"), "dispatch", "test").await.expect("open");
        assert!(store.capabilities().notifies);
        // The first wake-up only means that LISTEN is active.
        store.wake(Instant::now() + Duration::from_secs(10)).await;
        let quiet = Instant::now();
        store.wake(quiet + Duration::from_millis(300)).await;
        assert!(quiet.elapsed() >= Duration::from_millis(300), "nothing was written");

        let writer = tokio::spawn({
            let server = server.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(200)).await;
                server.insert_mails(100).await;
            }
        });
        let started = Instant::now();
        store.wake(started + Duration::from_secs(20)).await;
        assert!(started.elapsed() < Duration::from_secs(10), "woken by the insert, not by the deadline");
        writer.await.expect("the writer");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_listener_comes_back_after_its_connection_was_cut() {
    with_database(|server| async move {
        let database = server.database();
        database.migration(contract("mail_outbox")).apply(MigrateOptions { notify: true, ..MigrateOptions::default() }).await.expect("migrate");
        let store = database.open(contract("mail_outbox"), "dispatch", "test").await.expect("open");
        store.wake(Instant::now() + Duration::from_secs(10)).await;
        server
            .run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()")
            .await;
        // Rows written in the meantime count as a notification.
        let started = Instant::now();
        store.wake(started + Duration::from_secs(20)).await;
        assert!(started.elapsed() < Duration::from_secs(10), "back without the deadline");
        server.insert_mails(1).await;
        let started = Instant::now();
        store.wake(started + Duration::from_secs(20)).await;
        assert!(started.elapsed() < Duration::from_secs(10), "listening again");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_trigger_only_the_deadline_wakes() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        assert!(!store.capabilities().notifies);
        let started = Instant::now();
        store.wake(started + Duration::from_millis(150)).await;
        assert!(started.elapsed() >= Duration::from_millis(150));
    })
    .await;
}
