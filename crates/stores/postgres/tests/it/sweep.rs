use std::time::Duration;

use postrider_seams::RowId;
use postrider_seams::store::{Reclaimed, Store as _, SweepKind};

use crate::server::{claim, with_database};

#[tokio::test(flavor = "multi_thread")]
async fn m07_a_begun_row_goes_back_with_an_attempt_spent_and_a_held_one_comes_back_free() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(4).await;
        let claimed = claim(&store, 4).await;
        // Row 3 was claimed but not begun.
        let begun: Vec<_> =
            claimed.into_iter().map(|row| row.lease).filter(|lease| lease.id != RowId::Int(3)).collect();
        store.begin(&begun, &[]).await.expect("begin");
        server.run("UPDATE mail_outbox SET lease_until = now() - interval '1 s' WHERE id IN (1, 2, 3)").await;
        server.run("UPDATE mail_outbox SET retry_count = 4 WHERE id = 2").await;

        assert_eq!(store.reclaim(100).await.expect("reclaim"), Reclaimed { retried: 2, dead: 0, free: 1 });

        let rows = "SELECT string_agg(concat_ws(' ', id, status, retry_count, last_error IS NOT NULL, \
                    claimed_by IS NULL), ', ' ORDER BY id) FROM mail_outbox";
        let expected = "1 queued 1 t t, 2 queued 4 f t, 3 queued 0 f t, 4 dispatching 0 f f";
        assert_eq!(server.text(rows).await.as_deref(), Some(expected));
        assert_eq!(store.reclaim(100).await.expect("again"), Reclaimed::default());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m06_a_ready_row_without_an_attempt_left_is_swept() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(3).await;
        server.run("UPDATE mail_outbox SET retry_count = 5 WHERE id < 3").await;
        assert_eq!(store.sweep(SweepKind::Exhausted, 1).await.expect("sweep"), 1);
        assert_eq!(store.sweep(SweepKind::Exhausted, 10).await.expect("sweep"), 1);
        assert_eq!(store.sweep(SweepKind::Exhausted, 10).await.expect("sweep"), 0);
        let rows = "SELECT string_agg(id || status, ',' ORDER BY id) FROM mail_outbox";
        assert_eq!(server.text(rows).await.as_deref(), Some("1failed,2failed,3queued"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g06_a_purge_goes_in_chunks_and_never_touches_live_or_young_rows() {
    with_database(|server| async move {
        let store = server.open("outbox", "publish").await;
        server
            .run(
                "INSERT INTO outbox (id, topic, payload, status, retry_count, version, created_at, processed_at) \
                 SELECT n, 't', '{}', \
                 CASE WHEN n <= 10 THEN 'DELIVERED' WHEN n = 11 THEN 'FAILED' ELSE 'PENDING' END, 0, 0, \
                 now() - interval '30 d', CASE WHEN n < 10 THEN now() - interval '8 d' WHEN n < 12 THEN now() END \
                 FROM generate_series(1, 12) AS n",
            )
            .await;
        assert_eq!(store.purge(5).await.expect("purge"), 5);
        assert_eq!(store.purge(5).await.expect("purge"), 4);
        assert_eq!(store.purge(5).await.expect("purge"), 0);
        let left = "SELECT string_agg(status, ',' ORDER BY id) FROM outbox";
        assert_eq!(server.text(left).await.as_deref(), Some("DELIVERED,FAILED,PENDING"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_has_one_holder_until_it_runs_out() {
    with_database(|server| async move {
        let (one, two) = (server.mail_store().await, server.mail_store().await);
        let long = Duration::from_mins(1);
        assert!(one.lock("purge", long).await.expect("lock"));
        assert!(one.lock("purge", long).await.expect("renewed"));
        assert!(!two.lock("purge", long).await.expect("refused"));
        assert!(two.lock("other", long).await.expect("another name"));
        two.unlock("purge").await.expect("not ours: no effect");
        assert!(!two.lock("purge", long).await.expect("refused"));
        server.run("UPDATE postrider_locks SET expires_at = now() - interval '1 s'").await;
        assert!(two.lock("purge", long).await.expect("run out"));
        two.unlock("purge").await.expect("unlock");
        assert!(one.lock("purge", long).await.expect("given back"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_our_tables_everyone_has_the_lock_and_nothing_is_paused() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.run("DROP TABLE postrider_locks, postrider_lanes").await;
        assert!(store.lock("purge", Duration::from_secs(1)).await.expect("lock"));
        assert!(!store.paused("mail").await.expect("paused"));
        let error = store.set_paused("mail", true).await.expect_err("nowhere to keep it");
        assert!(error.message.contains("postrider migrate"), "{error}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_holds_for_all_instances() {
    with_database(|server| async move {
        let (one, two) = (server.mail_store().await, server.mail_store().await);
        assert!(!two.paused("mail").await.expect("paused"));
        one.set_paused("mail", true).await.expect("pause");
        one.set_paused("mail", true).await.expect("pause again");
        assert!(two.paused("mail").await.expect("paused"));
        assert!(!two.paused("other").await.expect("paused"));
        two.set_paused("mail", false).await.expect("resume");
        assert!(!one.paused("mail").await.expect("paused"));
    })
    .await;
}
