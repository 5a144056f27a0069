use postrider_contract::Transition;
use postrider_seams::row::{RowId, Value};
use postrider_seams::store::{INLINE_LIMIT, LeaseResult, Reclaimed, Settlement, Store as _, SweepKind};

use crate::server::{claim, settlement, with_database};

#[tokio::test(flavor = "multi_thread")]
async fn bytes_of_a_binary_column_come_as_bytes_and_stop_nobody() {
    with_database(|server| async move {
        drop(server.mail_store().await);
        server.run("ALTER TABLE mail_outbox MODIFY body_text LONGBLOB").await;
        let store = server.mail_store().await;
        server.insert_mails(2).await;
        server.run("UPDATE mail_outbox SET body_text = x'ff41' WHERE id = 2").await;
        let rows = claim(&store, 10).await;
        assert_eq!(rows.len(), 2);
        let row = rows.iter().find(|row| row.lease.id == RowId::Int(2)).expect("claimed");
        assert_eq!(row.fields.as_ref().expect("small").get("text"), &Value::Bytes(vec![0xff, b'A']));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_with_a_binary_collation_is_still_text() {
    with_database(|server| async move {
        drop(server.mail_store().await);
        server.run("ALTER TABLE mail_outbox MODIFY subject varchar(200) COLLATE utf8mb4_bin").await;
        let store = server.mail_store().await;
        server.insert_mails(1).await;
        let row = claim(&store, 1).await.remove(0);
        assert_eq!(row.fields.expect("small").get("subject"), &Value::Text("mail 1".into()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_row_comes_without_its_fields_and_is_loaded() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(1).await;
        let size = INLINE_LIMIT + 1;
        server.run(&format!("UPDATE mail_outbox SET body_text = REPEAT('x', {size})")).await;
        let row = claim(&store, 1).await.remove(0);
        assert!(row.fields.is_none() && row.size > INLINE_LIMIT);
        let loaded = store.load(&[row.lease]).await.expect("load").remove(0).expect("there");
        assert_eq!(loaded.get("text").as_text().map(|text| text.len() as u64), Some(size));
    })
    .await;
}

/// MySQL's invalid time is the zero date, which a server in a lax mode accepts. It is before every other time: no row
/// waits forever because of it.
#[tokio::test(flavor = "multi_thread")]
async fn g05_zero_dates_keep_no_row_waiting() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(3).await;
        let zero = "SET SESSION sql_mode = ''; UPDATE mail_outbox SET";
        server.run(&format!("{zero} next_attempt_at = 0, created_at = 0 WHERE id = 2")).await;
        let rows = claim(&store, 10).await;
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0].lease.id, RowId::Int(2));
        server.run(&format!("{zero} last_attempt_at = 0, lease_until = 0 WHERE id = 2")).await;
        let free = store.reclaim(10).await.expect("reclaim");
        assert_eq!(free, Reclaimed { free: 1, ..Reclaimed::default() });
        assert_eq!(claim(&store, 10).await.len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g05_a_job_that_expires_on_a_zero_date_has_expired() {
    with_database(|server| async move {
        let store = server.open("dispatch_jobs", "deliver").await;
        server
            .run(
                "SET SESSION sql_mode = ''; INSERT INTO dispatch_jobs (id, code, target_url, status, expires_at, \
                 scheduled_for) VALUES ('1', 'c', 'http://localhost', 'QUEUED', 0, NULL), \
                 ('2', 'c', 'http://localhost', 'QUEUED', NULL, 0)",
            )
            .await;
        let rows = claim(&store, 10).await;
        assert_eq!(rows.iter().map(|row| row.lease.id.to_string()).collect::<Vec<_>>(), ["2"]);
        let expire = store.contract().sweeps.iter().position(|sweep| sweep.name.as_deref() == Some("expire")).expect("ours");
        assert_eq!(store.sweep(SweepKind::Contract(expire), 10).await.expect("sweep"), 1);
        let error = server.text("SELECT last_error FROM dispatch_jobs WHERE id = '1'").await;
        assert_eq!(error.as_deref(), Some("expired before delivery"));
    })
    .await;
}

/// A refused settle would keep the outcome of a delivered row in memory.
#[tokio::test(flavor = "multi_thread")]
async fn a_reason_fits_into_every_text_column() {
    with_database(|server| async move {
        drop(server.mail_store().await);
        let reason = format!("550 größer 😀 {}", "ü".repeat(400));
        for (sql_type, expected) in [
            ("text CHARACTER SET latin1", format!("550 größer ? {}", "ü".repeat(400))),
            ("text CHARACTER SET utf8mb3", format!("550 größer ? {}", "ü".repeat(400))),
            ("varchar(20) CHARACTER SET latin1", format!("550 größer ? {}", "ü".repeat(7))),
            ("tinytext", format!("550 gr??er ? {}", "?".repeat(242))),
            ("varchar(20)", format!("550 größer 😀 {}", "ü".repeat(7))),
        ] {
            server.run("DELETE FROM mail_outbox").await;
            server.run(&format!("ALTER TABLE mail_outbox MODIFY last_error {sql_type}")).await;
            let store = server.mail_store().await;
            server.insert_mails(30).await;
            let rows = claim(&store, 30).await;
            // One row, and a batch with shared values.
            for rows in [&rows[..1], &rows[1..]] {
                let moves: Vec<Settlement> = rows
                    .iter()
                    .map(|row| Settlement {
                        reason: Some(reason.clone()),
                        ..settlement(&row.lease, Transition::Dead)
                    })
                    .collect();
                let held = store.settle(&moves).await.expect(sql_type);
                assert!(held.iter().all(|held| *held == LeaseResult::Held), "{sql_type}");
            }
            let stored = server.text("SELECT MIN(last_error) FROM mail_outbox").await;
            assert_eq!(stored, Some(expected), "{sql_type}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m09_the_engine_knows_what_a_short_error_column_holds() {
    with_database(|server| async move {
        drop(server.mail_store().await);
        server.run("ALTER TABLE mail_outbox MODIFY last_error varchar(255)").await;
        let limits = server.mail_store().await.capabilities();
        assert_eq!((limits.reason_limit, limits.recipients_limit), (Some(255), None));
    })
    .await;
}
