use postrider_contract::Contract;
use postrider_seams::migrate::{Migrate as _, MigrateOptions};

use crate::server::{claim, contract, with_database};

#[tokio::test(flavor = "multi_thread")]
async fn g04_migrate_creates_every_contracts_table_and_is_idempotent() {
    with_database(|server| async move {
        let database = server.database();
        for name in Contract::builtin_names() {
            let migration = database.migration(contract(name));
            let planned = migration.plan(MigrateOptions::default()).await.expect(name);
            assert!(!planned.is_empty(), "{name}");
            let exists = format!("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '{name}'");
            assert_eq!(server.text(&exists).await.as_deref(), Some("0"), "a plan only reads");
            assert_eq!(migration.apply(MigrateOptions::default()).await.expect(name), planned, "{name}");
            assert_eq!(server.text(&exists).await.as_deref(), Some("1"));
            assert!(
                migration.plan(MigrateOptions::default()).await.expect(name).is_empty(),
                "{name}: nothing is left"
            );
            assert!(migration.apply(MigrateOptions::default()).await.expect(name).is_empty(), "{name}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g04_migrations_at_once_are_all_fine() {
    with_database(|server| async move {
        let mut all = Vec::new();
        for _ in 0..4 {
            let database = server.database();
            all.push(tokio::spawn(async move {
                for name in Contract::builtin_names() {
                    database.migration(contract(name)).apply(MigrateOptions::default()).await.expect(name);
                }
            }));
        }
        for one in all {
            one.await.expect("a migration");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g04_a_foreign_table_keeps_its_rows_and_columns() {
    with_database(|server| async move {
        server
            .run(
                "CREATE TABLE mail_outbox (id int unsigned AUTO_INCREMENT PRIMARY KEY, to_addresses text NOT NULL, \
                 subject varchar(200) NOT NULL, body_text text, status varchar(20) NOT NULL DEFAULT 'queued', \
                 retry_count smallint NOT NULL DEFAULT 0, next_attempt_at datetime(3) NOT NULL, last_error text, \
                 last_attempt_at datetime(3), created_at datetime NOT NULL, tenant varchar(10) DEFAULT 'acme')",
            )
            .await;
        server
            .run(
                "INSERT INTO mail_outbox (to_addresses, subject, next_attempt_at, created_at) VALUES \
                 ('a@example.org', 'one', UTC_TIMESTAMP(3), UTC_TIMESTAMP()), \
                 ('a@example.org', 'two', UTC_TIMESTAMP(3), UTC_TIMESTAMP())",
            )
            .await;
        let database = server.database();
        database.migration(contract("mail_outbox")).apply(MigrateOptions::default()).await.expect("migrate");
        let kept = "SELECT COUNT(*) FROM mail_outbox WHERE tenant = 'acme' AND claimed_by IS NULL AND lease_until IS NULL";
        assert_eq!(server.text(kept).await.as_deref(), Some("2"));
        let store = database.open(contract("mail_outbox"), "dispatch", "mail").await.expect("open");
        let rows = claim(&store, 10).await;
        assert_eq!(rows.len(), 2);
        let moves: Vec<_> = rows
            .iter()
            .map(|row| crate::server::settlement(&row.lease, postrider_contract::Transition::Delivered))
            .collect();
        let held = postrider_seams::Store::settle(&*store, &moves).await.expect("settle");
        assert_eq!(held, [postrider_seams::store::LeaseResult::Held; 2]);
    })
    .await;
}

/// Keys of up to 500 characters, as the table of crashes has them: with a longer one the settle would be refused.
#[tokio::test(flavor = "multi_thread")]
async fn m09_a_table_of_recipient_results_of_an_earlier_version_gets_longer_keys() {
    with_database(|server| async move {
        drop(server.mail_store().await);
        let row_id = "SELECT column_type FROM information_schema.columns \
                      WHERE table_schema = DATABASE() AND table_name = 'postrider_recipients' AND column_name = 'row_id'";
        assert_eq!(server.text(row_id).await.as_deref(), Some("varchar(500)"));
        server
            .run("ALTER TABLE postrider_recipients MODIFY row_id varchar(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL")
            .await;
        let migration = server.database().migration(contract("mail_outbox"));
        let missing = migration.missing(MigrateOptions::default()).await.expect("compared");
        assert!(missing.iter().any(|statement| statement.contains("row_id varchar(500)")), "check says so: {missing:?}");
        migration.apply(MigrateOptions::default()).await.expect("migrate");
        assert_eq!(server.text(row_id).await.as_deref(), Some("varchar(500)"));
        assert!(migration.plan(MigrateOptions::default()).await.expect("planned").is_empty());
    })
    .await;
}
