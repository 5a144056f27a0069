use postrider_seams::row::{RowId, Value};
use postrider_seams::store::{INLINE_LIMIT, Reclaimed, Store as _, SweepKind};

use crate::server::{claim, with_database};

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
