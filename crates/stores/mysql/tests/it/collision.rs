use std::collections::HashSet;
use std::time::{Duration, Instant};

use postrider_contract::Transition;
use postrider_seams::row::RowId;
use postrider_seams::store::{Class, LeaseResult, Store as _};

use crate::server::{claim, settlement, with_database};

#[tokio::test(flavor = "multi_thread")]
async fn claims_are_exclusive_and_settles_exact_under_eight_workers_and_a_producer() {
    with_database(|server| async move {
        server.mail_store().await;
        server.insert_mails(600).await;
        let mut workers = Vec::new();
        for _ in 0..8 {
            let store = server.mail_store().await;
            workers.push(tokio::spawn(async move {
                let mut taken = Vec::new();
                loop {
                    let rows = claim(&store, 40).await;
                    if rows.is_empty() {
                        return taken;
                    }
                    // In the order most likely to deadlock.
                    let moves: Vec<_> =
                        rows.iter().rev().map(|row| settlement(&row.lease, Transition::Delivered)).collect();
                    let held = store.settle(&moves).await.expect("settle");
                    assert!(held.iter().all(|held| *held == LeaseResult::Held));
                    taken.extend(rows.into_iter().map(|row| row.lease.id));
                }
            }));
        }
        for _ in 0..10 {
            server.insert_mails(10).await;
        }
        let mut all: Vec<RowId> = Vec::new();
        for worker in workers {
            all.extend(worker.await.expect("a worker"));
        }
        all.extend(claim(&*server.mail_store().await, 500).await.into_iter().map(|row| row.lease.id));
        assert_eq!((all.len(), all.iter().collect::<HashSet<_>>().len()), (700, 700));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m01_a_foreign_worker_with_the_specifications_own_sql_is_left_alone() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(20).await;
        let mut foreign = server.sql.acquire().await.expect("a connection");
        // At REPEATABLE READ its gap locks would block all other sessions, including ours.
        sqlx::raw_sql("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN")
            .execute(&mut *foreign)
            .await
            .expect("a transaction");
        let theirs: Vec<u64> = sqlx::query_scalar(
            "SELECT CAST(id AS UNSIGNED) FROM mail_outbox WHERE status = 'queued' AND next_attempt_at <= UTC_TIMESTAMP(6) \
             AND retry_count < 5 ORDER BY next_attempt_at, id LIMIT 5 FOR UPDATE SKIP LOCKED",
        )
        .fetch_all(&mut *foreign)
        .await
        .expect("their claim");
        assert_eq!(theirs.len(), 5);
        let ours = claim(&store, 100).await;
        assert_eq!(ours.len(), 15, "a foreign worker's rows are passed over");
        sqlx::raw_sql("ROLLBACK").execute(&mut *foreign).await.expect("rollback");
        assert_eq!(claim(&store, 100).await.len(), 5);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_a_row_that_another_session_locks_delays_its_settle_by_no_more_than_two_deadlines() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(2).await;
        let rows = claim(&store, 2).await;
        let mut foreign = server.sql.acquire().await.expect("a connection");
        let lock = format!("BEGIN; SELECT id FROM mail_outbox WHERE id = {} FOR UPDATE", rows[0].lease.id);
        sqlx::raw_sql(sqlx::AssertSqlSafe(lock)).execute(&mut *foreign).await.expect("a lock");

        let begun = Instant::now();
        let error =
            store.settle(&[settlement(&rows[0].lease, Transition::Delivered)]).await.expect_err("locked");

        assert_eq!(error.class, Class::Transient, "{error}");
        assert!(begun.elapsed() < Duration::from_secs(17), "{:?}", begun.elapsed());
        let other = std::slice::from_ref(&rows[1].lease);
        assert!(store.extend(other).await.expect("extend")[0].is_some(), "its lease is extended meanwhile");
        sqlx::raw_sql("ROLLBACK").execute(&mut *foreign).await.expect("rollback");
        let held = store.settle(&[settlement(&rows[0].lease, Transition::Delivered)]).await.expect("settle");
        assert_eq!(held, [LeaseResult::Held]);
    })
    .await;
}
