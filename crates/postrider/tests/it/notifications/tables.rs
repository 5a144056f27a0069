//! An application's own tables, with only the columns of the specification.

use super::{PAYLOAD, at_rest, settings, told};
use crate::rig::sql::Sql;
use crate::shop::Shop;

const OWN: [&str; 3] = [
    "CREATE TABLE open_event_notifications (notification_id INTEGER PRIMARY KEY, open_event_id INTEGER NOT NULL, \
     subscription_id INTEGER NOT NULL, dedupe_key TEXT NOT NULL, fanout_status TEXT NOT NULL DEFAULT 'pending', \
     fanout_attempts INTEGER NOT NULL DEFAULT 0, last_attempt_at TEXT, locked_by TEXT, locked_at TEXT, error TEXT, \
     UNIQUE (open_event_id, subscription_id))",
    "CREATE TABLE open_events (open_event_id INTEGER PRIMARY KEY, term_id TEXT, campus_code TEXT, index_number TEXT, \
     status_after TEXT, event_at TEXT, payload TEXT)",
    "CREATE TABLE subscriptions (subscription_id INTEGER PRIMARY KEY, status TEXT, contact_type TEXT, contact_value TEXT)",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n12_tables_with_only_what_the_specification_names_are_enough() {
    let shop = Shop::new(None);
    std::fs::write(shop.path("postrider.toml"), settings("sqlite:app.db"))
        .expect("the settings can be written");
    let pool = shop.sql_creating().await;
    for table in OWN {
        sqlx::query(table).execute(&pool).await.expect("it can be made");
    }
    pool.close().await;
    let sql = Sql::sqlite(&shop.path("app.db"));
    shop.run(&["check"]).code(1);
    shop.run(&["migrate"]).fine();
    // `migrate` creates this table too; an application without it must work as well.
    sql.must("DROP TABLE sections").await;
    sql.must("DROP TABLE courses").await;
    sql.must(&format!(
        "INSERT INTO open_events VALUES (1, '2026F', 'NB', '07214', 'Open', datetime('now'), '{PAYLOAD}')"
    ))
    .await;
    sql.must("INSERT INTO subscriptions VALUES (1, 'active', 'email', 'ann@example.net')").await;
    sql.must("INSERT INTO open_event_notifications (open_event_id, subscription_id, dedupe_key) VALUES (1, 1, 'k')")
        .await;
    let text = settings("sqlite:app.db").replace("?token={token}", "");
    std::fs::write(shop.path("postrider.toml"), text).expect("the settings can be written");
    let running = shop.start();
    at_rest(&sql).await;
    let row = told(&sql).await.remove(0);
    assert_eq!(row[..3], ["ann@example.net", "sent", "1"], "{row:?}");
    drop(running);

    sql.must("ALTER TABLE subscriptions RENAME TO people").await;
    let said = shop.run(&["check"]).code(1);
    assert!(said.out.contains("table subscriptions is missing"), "{}\n{}", said.out, said.err);
    shop.run(&["migrate"]).fine();
    shop.run(&["check"]).fine();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n00_the_fields_of_the_specification_suffice_without_migrate() {
    let shop = Shop::new(None);
    let text = settings("sqlite:app.db").replace("?token={token}", "");
    std::fs::write(shop.path("postrider.toml"), text).expect("the settings can be written");
    let pool = shop.sql_creating().await;
    let events = "CREATE TABLE subscription_events (subscription_id INTEGER, event_type TEXT, section_status TEXT, created_at TEXT)";
    for table in OWN.into_iter().chain([events]) {
        sqlx::query(table).execute(&pool).await.expect("it can be made");
    }
    pool.close().await;
    let sql = Sql::sqlite(&shop.path("app.db"));
    sql.must(&format!(
        "INSERT INTO open_events VALUES (1, '2026F', 'NB', '07214', 'Open', datetime('now'), '{PAYLOAD}')"
    ))
    .await;
    sql.must("INSERT INTO subscriptions VALUES (1, 'active', 'email', 'ann@example.net')").await;
    sql.must("INSERT INTO open_event_notifications (open_event_id, subscription_id, dedupe_key) VALUES (1, 1, 'k')")
        .await;
    let said = shop.run(&["check"]);
    assert!(said.out.contains("rows do not expire"), "{}\n{}", said.out, said.err);
    let running = shop.start();
    at_rest(&sql).await;
    let row = told(&sql).await.remove(0);
    assert_eq!(row[..3], ["ann@example.net", "sent", "1"], "{row:?}");
    drop(running);
}
