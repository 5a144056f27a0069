use postrider_seams::row::{RowId, Value};
use postrider_seams::store::{INLINE_LIMIT, Store as _};

use crate::file::{File, claim};

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_not_utf8_comes_as_bytes_and_stops_nobody() {
    let file = File::new();
    let store = file.mail_store().await;
    file.insert_mails(3).await;
    file.run("UPDATE mail_outbox SET subject = CAST(x'ff41' AS TEXT) WHERE id = 2").await;
    let rows = claim(&store, 10).await;
    assert_eq!(rows.len(), 3);
    let subject = |id: i64| {
        let row = rows.iter().find(|row| row.lease.id == RowId::Int(id)).expect("claimed");
        row.fields.as_ref().expect("small").get("subject").clone()
    };
    assert_eq!(subject(1), Value::Text("mail 1".into()));
    assert_eq!(subject(2), Value::Bytes(vec![0xff, b'A']));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_row_comes_without_its_fields_and_is_loaded() {
    let file = File::new();
    let store = file.mail_store().await;
    file.insert_mails(1).await;
    let size = INLINE_LIMIT + 1;
    file.run(&format!("UPDATE mail_outbox SET body_text = hex(zeroblob({size}))")).await;
    let row = claim(&store, 1).await.remove(0);
    assert!(row.fields.is_none() && row.size > INLINE_LIMIT);
    let loaded = store.load(&[row.lease]).await.expect("load").remove(0).expect("there");
    assert_eq!(loaded.get("text").as_text().map(|text| text.len() as u64), Some(size * 2));
}
