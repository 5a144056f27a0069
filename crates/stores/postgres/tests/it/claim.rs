use std::collections::HashSet;

use postrider_seams::row::{RowId, Value};
use postrider_seams::store::{INLINE_LIMIT, Store as _};

use crate::server::{claim, with_database};

#[tokio::test(flavor = "multi_thread")]
async fn m01_a_claim_takes_due_rows_in_order_and_marks_them() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(5).await;
        server.run("UPDATE mail_outbox SET next_attempt_at = now() + interval '1 hour' WHERE id = 2").await;
        server.run("UPDATE mail_outbox SET retry_count = 5 WHERE id = 3").await;
        server.run("UPDATE mail_outbox SET status = 'failed' WHERE id = 4").await;
        server.run("UPDATE mail_outbox SET next_attempt_at = now() - interval '1 day' WHERE id = 5").await;

        let rows = claim(&store, 10).await;

        let ids: Vec<RowId> = rows.iter().map(|row| row.lease.id.clone()).collect();
        assert_eq!(ids, [RowId::Int(5), RowId::Int(1)]);
        let marked = "SELECT string_agg(id || status || (last_attempt_at > now() - interval '5 s')::text, ',' \
                      ORDER BY id) FROM mail_outbox WHERE status = 'dispatching'";
        assert_eq!(server.text(marked).await.as_deref(), Some("1dispatchingtrue,5dispatchingtrue"));
        let fields = rows[0].fields.as_ref().expect("small");
        assert_eq!(fields.get("subject"), &Value::Text("mail 5".into()));
        assert_eq!(rows[0].counters.attempts, 0);
        assert!(rows[0].waited_micros >= 86_400_000_000, "{}", rows[0].waited_micros);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_are_exclusive_under_eight_claimers() {
    with_database(|server| async move {
        server.mail_store().await;
        server.insert_mails(800).await;
        let mut claimers = Vec::new();
        for _ in 0..8 {
            let store = server.mail_store().await;
            claimers.push(tokio::spawn(async move {
                let mut taken = Vec::new();
                loop {
                    let rows = claim(&store, 17).await;
                    if rows.is_empty() {
                        return taken;
                    }
                    taken.extend(rows.into_iter().map(|row| row.lease.id));
                }
            }));
        }
        let mut all = Vec::new();
        for claimer in claimers {
            all.extend(claimer.await.expect("a claimer"));
        }
        assert_eq!(all.len(), 800);
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 800, "a row was claimed twice");
        assert_eq!(server.number("SELECT count(*) FROM mail_outbox WHERE status = 'dispatching'").await, 800);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m01_a_foreign_worker_with_the_specifications_own_sql_is_left_alone() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(10).await;
        let mut foreign = server.sql.begin().await.expect("a transaction");
        let theirs: Vec<i64> = sqlx::query_scalar(
            "SELECT id FROM mail_outbox WHERE status = 'queued' AND next_attempt_at <= now() AND retry_count < 5 \
             ORDER BY next_attempt_at, id LIMIT 4 FOR UPDATE SKIP LOCKED",
        )
        .fetch_all(&mut *foreign)
        .await
        .expect("their claim");

        let ours = claim(&store, 10).await;

        assert_eq!(ours.len(), 6);
        assert!(ours.iter().all(|row| !theirs.iter().any(|id| row.lease.id == RowId::Int(*id))));
        foreign.commit().await.expect("commit");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_row_comes_without_its_fields_and_is_loaded() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(2).await;
        let size = INLINE_LIMIT + 1;
        server.run(&format!("UPDATE mail_outbox SET body_text = repeat('x', {size}) WHERE id = 1")).await;

        let rows = claim(&store, 10).await;

        let large = rows.iter().find(|row| row.lease.id == RowId::Int(1)).expect("row 1");
        assert!(large.fields.is_none() && large.size >= size);
        assert!(rows.iter().any(|row| row.fields.is_some()), "the small one came with its fields");
        server.run("DELETE FROM mail_outbox WHERE id = 2").await;
        let leases: Vec<_> = rows.iter().map(|row| row.lease.clone()).collect();
        let loaded = store.load(&leases).await.expect("load");
        for (lease, fields) in leases.iter().zip(&loaded) {
            match lease.id {
                RowId::Int(1) => {
                    let text = fields.as_ref().expect("there").get("text").as_text().expect("text").len();
                    assert_eq!(text as u64, size);
                }
                _ => assert!(fields.is_none(), "a row that is gone"),
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn next_due_returns_how_long_to_sleep() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        assert_eq!(store.next_due().await.expect("next due"), None);
        server.insert_mails(1).await;
        server.run("UPDATE mail_outbox SET next_attempt_at = now() + interval '100 s'").await;
        let wait = store.next_due().await.expect("next due").expect("one waits").as_secs_f64();
        assert!((95.0..=100.0).contains(&wait), "{wait}");
        server.run("UPDATE mail_outbox SET next_attempt_at = now() - interval '1 s'").await;
        assert_eq!(store.next_due().await.expect("next due"), Some(std::time::Duration::ZERO));
    })
    .await;
}
