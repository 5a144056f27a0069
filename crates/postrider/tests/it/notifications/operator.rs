//! An operator's requeue, as specified: pending, no attempts, no error, and no lock.

use super::{PAYLOAD, insert_notification, settings, wait_until_settled};
use crate::sandbox::Sandbox;
use crate::support::database::{Kind, fresh};
use crate::support::sql::Sql;

/// The columns of each row before the requeue.
const LEFT: [(&str, &str); 5] = [
    ("failed", r#"{"code":"provider_error"}"#),
    ("skipped", r#"{"code":"notify_on"}"#),
    ("expired", r#"{"code":"expired"}"#),
    ("sent", r#"{"status":"sent"}"#),
    ("pending", ""),
];

/// Status, attempts, error, owner of the lock, and whether there is a lock.
async fn rows(sql: &Sql) -> Vec<String> {
    let columns = ["fanout_status", "fanout_attempts", "error", "locked_by"].map(|column| sql.text(column));
    let query = format!(
        "SELECT {}, CASE WHEN locked_at IS NULL THEN 'free' ELSE 'locked' END FROM open_event_notifications \
         ORDER BY notification_id",
        columns.join(", ")
    );
    let rows = sql.rows(&query).await.expect("the table can be read");
    let without_nulls = |row: Vec<Option<String>>| {
        row.into_iter().map(|cell| cell.unwrap_or_else(|| "-".to_owned())).collect::<Vec<_>>().join(" ")
    };
    rows.into_iter().map(without_nulls).collect()
}

async fn requeued(kind: Kind) {
    let sandbox = Sandbox::new(None);
    let (url, sql) = fresh(kind, "requeue", &sandbox).await;
    std::fs::write(sandbox.path("postrider.toml"), settings(&url)).expect("the settings can be written");
    sandbox.run(&["migrate"]).success();
    for (at, (status, error)) in LEFT.iter().enumerate() {
        let id = at + 1;
        insert_notification(&sql, id, &format!("p{id}@example.net"), PAYLOAD, "").await;
        // A leftover lock of another program is cleared as well; the lock of a live worker is not.
        let error = if error.is_empty() { "NULL".to_owned() } else { format!("'{error}'") };
        sql.must(&format!(
            "UPDATE open_event_notifications SET fanout_status = '{status}', fanout_attempts = 2, error = {error}, \
             locked_by = 'other', locked_at = {} WHERE subscription_id = {id}",
            sql.now()
        ))
        .await;
    }
    let ids: Vec<String> = sql
        .rows(&format!("SELECT {} FROM open_event_notifications ORDER BY 1", sql.text("notification_id")))
        .await
        .expect("the table can be read")
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    let mut words = vec!["requeue", "notify"];
    words.extend(ids.iter().map(String::as_str));
    let output = sandbox.run(&words).success();
    assert_eq!(output.stdout, "3\n");
    assert!(output.stderr.contains("2 of 5 rows"), "{}", output.stderr);
    let fresh = "pending 0 - - free";
    let sent = format!("sent 2 {} other locked", LEFT[3].1);
    assert_eq!(rows(&sql).await, [fresh, fresh, fresh, sent.as_str(), "pending 2 - other locked"]);
    let running = sandbox.start();
    assert_all_but_one_requeued(&sql).await;
    let anew =
        sql.count("open_event_notifications WHERE fanout_status = 'sent' AND fanout_attempts = 1").await;
    assert_eq!(anew, Some(3));
    drop(running);
}

/// Asserts that all rows are requeued except the one that another worker holds.
async fn assert_all_but_one_requeued(sql: &Sql) {
    sql.must("UPDATE open_event_notifications SET fanout_status = 'expired' WHERE locked_by = 'other' AND fanout_status = 'pending'")
        .await;
    wait_until_settled(sql).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n06_requeued_rows_start_over_on_sqlite() {
    requeued(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n06_requeued_rows_start_over_on_postgres() {
    requeued(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n06_requeued_rows_start_over_on_mariadb() {
    requeued(Kind::MariaDb).await;
}
