use postrider_seams::row::{RowId, Value};
use postrider_seams::store::{INLINE_LIMIT, Store as _};

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
