use postrider_contract::Contract;
use postrider_seams::inspect::Inspect as _;
use postrider_seams::migrate::{Migrate as _, MigrateOptions};
use postrider_seams::store::Store as _;

use crate::server::{claim, contract, with_database};

#[tokio::test(flavor = "multi_thread")]
async fn g04_migrate_creates_every_contracts_table_and_is_idempotent() {
    with_database(|server| async move {
        let database = server.database();
        for name in Contract::builtin_names() {
            let migration = database.migration(contract(name));
            let planned = migration.plan(MigrateOptions::default()).await.expect(name);
            assert!(!planned.is_empty(), "{name}");
            let exists = format!("SELECT (to_regclass('{name}') IS NOT NULL)");
            assert_eq!(server.text(&exists).await.as_deref(), Some("false"), "a plan only reads");
            assert_eq!(migration.apply(MigrateOptions::default()).await.expect(name), planned, "{name}");
            assert_eq!(server.text(&exists).await.as_deref(), Some("true"));
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
async fn g04_two_migrations_at_once_are_both_fine() {
    with_database(|server| async move {
        let mut both = Vec::new();
        for _ in 0..4 {
            let database = server.database();
            both.push(tokio::spawn(async move {
                for name in Contract::builtin_names() {
                    let options = MigrateOptions { notify: true, ..MigrateOptions::default() };
                    database.migration(contract(name)).apply(options).await.expect(name);
                }
            }));
        }
        for one in both {
            one.await.expect("a migration");
        }
        assert_eq!(server.number("SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'postrider_%'").await, 5);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g04_a_foreign_table_keeps_its_rows_and_columns_and_duplicates_do_not_stop_it() {
    with_database(|server| async move {
        server
            .run(
                "CREATE TABLE mail_outbox (id serial PRIMARY KEY, to_addresses text NOT NULL, subject text NOT NULL, \
                 body_text text, status varchar(20) NOT NULL DEFAULT 'queued', retry_count int NOT NULL DEFAULT 0, \
                 next_attempt_at timestamp(3) NOT NULL DEFAULT now(), last_error text, last_attempt_at timestamp(3), \
                 created_at timestamp(3) NOT NULL DEFAULT now(), idempotency_key text, tenant text DEFAULT 'acme'); \
                 INSERT INTO mail_outbox (to_addresses, subject, idempotency_key) \
                 SELECT 'a@example.org', 's', 'the same' FROM generate_series(1, 3)",
            )
            .await;
        let database = server.database();
        let migration = database.migration(contract("mail_outbox"));
        migration.apply(MigrateOptions::default()).await.expect("migrate");
        assert_eq!(server.number("SELECT count(*) FROM mail_outbox WHERE tenant = 'acme'").await, 3);
        let columns = "SELECT count(*) FROM information_schema.columns WHERE table_name = 'mail_outbox' \
                       AND column_name IN ('claimed_by', 'lease_until')";
        assert_eq!(server.number(columns).await, 2);
        migration.apply(MigrateOptions::default()).await.expect("again");

        let store = database.open(contract("mail_outbox"), "dispatch", "mail").await.expect("open");
        let findings = store.verify().await.expect("verify");
        let reported = findings.iter().find(|finding| finding.text.contains("idempotency_key should be unique"));
        assert!(reported.is_some(), "{findings:?}");

        let rows = claim(&store, 10).await;
        assert_eq!(rows.len(), 3);
        let moves: Vec<_> = rows
            .iter()
            .map(|row| crate::server::settlement(&row.lease, postrider_contract::Transition::Delivered))
            .collect();
        let held = store.settle(&moves).await.expect("settle");
        assert!(held.iter().all(|held| *held == postrider_seams::store::LeaseResult::Held));
        assert_eq!(server.number("SELECT count(*) FROM mail_outbox WHERE status = 'sent'").await, 3);
    })
    .await;
}
