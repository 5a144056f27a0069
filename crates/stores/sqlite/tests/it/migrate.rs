use postrider_contract::{Contract, Layer};
use postrider_seams::migrate::{Migrate as _, MigrateOptions};
use postrider_seams::store::Store as _;

use crate::file::{File, claim, contract};

#[tokio::test(flavor = "multi_thread")]
async fn g04_migrate_creates_every_contracts_table_and_is_idempotent() {
    let file = File::new();
    let database = file.database();
    for name in Contract::builtin_names() {
        let migration = database.migration(contract(name));
        let planned = migration.plan(MigrateOptions::default()).await.expect(name);
        assert!(!planned.is_empty(), "{name}");
        let there = format!("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '{name}'");
        assert_eq!(file.text(&there).await.as_deref(), Some("0"), "a plan only reads");
        assert_eq!(migration.apply(MigrateOptions::default()).await.expect(name), planned, "{name}");
        assert_eq!(file.text(&there).await.as_deref(), Some("1"));
        assert!(
            migration.plan(MigrateOptions::default()).await.expect(name).is_empty(),
            "{name}: nothing is left"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn g04_migrations_at_once_are_all_fine() {
    let file = File::new();
    let mut all = Vec::new();
    for _ in 0..4 {
        let database = file.database();
        all.push(tokio::spawn(async move {
            for name in Contract::builtin_names() {
                database.migration(contract(name)).apply(MigrateOptions::default()).await.expect(name);
            }
        }));
    }
    for one in all {
        one.await.expect("a migration");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn g04_a_foreign_table_keeps_its_rows_and_columns() {
    let file = File::new();
    let database = file.database();
    file.run(
        "CREATE TABLE mail_outbox (id INTEGER PRIMARY KEY, to_addresses TEXT NOT NULL, subject TEXT NOT NULL, \
         body_text TEXT, status TEXT NOT NULL DEFAULT 'queued', retry_count INTEGER NOT NULL DEFAULT 0, \
         next_attempt_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, last_error TEXT, last_attempt_at TEXT, \
         created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, tenant TEXT DEFAULT 'acme'); \
         INSERT INTO mail_outbox (to_addresses, subject) VALUES ('a@example.org', 'one'), ('a@example.org', 'two')",
    )
    .await;
    database.migration(contract("mail_outbox")).apply(MigrateOptions::default()).await.expect("migrate");
    let kept = "SELECT count(*) FROM mail_outbox WHERE tenant = 'acme' AND claimed_by IS NULL AND lease_until IS NULL";
    assert_eq!(file.text(kept).await.as_deref(), Some("2"));
    let store = database.open(contract("mail_outbox"), "dispatch", "mail").await.expect("open");
    assert_eq!(claim(&store, 10).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn g06_a_purge_takes_along_what_the_tables_own_keys_cascade_to() {
    let file = File::new();
    file.open("emails", "intake").await;
    let over = "[retention]\nINVALID = \"1h\"".parse().expect("TOML");
    let layer = Layer::new("settings", "lanes.intake", over);
    let text = Contract::builtin("emails").expect("a contract of ours");
    let kept = Contract::parse_with("emails.toml", text, &[layer]).expect("it parses");
    // A table of the application, and one whose rows must be kept.
    file.run("CREATE TABLE opened (mail TEXT REFERENCES emails (id) ON DELETE CASCADE)").await;
    file.run("CREATE TABLE billed (mail TEXT REFERENCES emails (id))").await;
    for (id, at) in [("old", "2001-01-01T00:00:00.000Z"), ("young", "2999-01-01T00:00:00.000Z")] {
        file.run(&format!("INSERT INTO emails (id, status, updated_at) VALUES ('{id}', 'INVALID', '{at}')"))
            .await;
        file.run(&format!("INSERT INTO email_statuses (email_id, status) VALUES ('{id}', 'INVALID')")).await;
        file.run(&format!("INSERT INTO opened VALUES ('{id}'); INSERT INTO billed VALUES ('{id}')")).await;
    }
    let store = file.database().open(kept, "intake", "test").await.expect("open");
    assert_eq!(store.purge(100).await.expect("purge"), 1, "rows, not lines of theirs");
    for (table, column, left) in [
        ("emails", "id", "young"),
        ("email_statuses", "email_id", "young"),
        ("opened", "mail", "young"),
        ("billed", "mail", "old,young"),
    ] {
        let all = format!("SELECT group_concat({column}) FROM (SELECT {column} FROM {table} ORDER BY 1)");
        assert_eq!(file.text(&all).await.as_deref(), Some(left), "{table}");
    }
}
