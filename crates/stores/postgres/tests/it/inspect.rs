use std::time::Duration;

use postrider_seams::Store as _;
use postrider_seams::inspect::{Finding, Inspect, Level, Order, Query, SelectedRows};
use postrider_seams::store::SweepKind;

use crate::server::{claim, with_database};

#[tokio::test(flavor = "multi_thread")]
async fn pages_go_from_the_newest_key_and_meet_every_row_once() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(25).await;
        server.run("UPDATE mail_outbox SET status = 'failed' WHERE id % 2 = 0").await;
        let mut query = Query { state: Some("queued".into()), limit: 5, ..Query::default() };
        let mut seen = Vec::new();
        loop {
            let page = store.list(&query).await.expect("browse");
            assert!(page.rows.iter().all(|row| row.state.as_deref() == Some("queued")));
            seen.extend(page.rows.iter().map(|row| row.id.parse::<i64>().expect("a number")));
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, (1..=25).rev().filter(|id| id % 2 == 1).collect::<Vec<_>>());
        let all = store.list(&Query { limit: 100, ..Query::default() }).await.expect("browse");
        assert_eq!(all.rows.len(), 25);
        assert!(store.list(&Query { state: Some("nope".into()), ..query }).await.is_err());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_is_shown_with_all_its_columns() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(1).await;
        server.run("ALTER TABLE mail_outbox ADD note text DEFAULT 'ours not to touch'").await;
        let store = {
            drop(store);
            server.mail_store().await
        };
        let row = store.show("1").await.expect("show").expect("there");
        assert_eq!((row.id.as_str(), row.state.as_deref()), ("1", Some("queued")));
        let note = row.columns.iter().find(|(name, _)| name == "note").expect("the column");
        assert_eq!(note.1.as_deref(), Some("ours not to touch"));
        assert!(store.show("2").await.expect("show").is_none());
        assert!(store.show("no key").await.expect("show").is_none());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_census_counts_every_state_and_stops_at_its_limit() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(10_050).await;
        server.run("UPDATE mail_outbox SET status = 'sent' WHERE id <= 3").await;
        let counts = store.count_by_state().await.expect("census");
        let of = |state: &str| counts.iter().find(|count| count.state == state).expect("listed").clone();
        assert_eq!((of("queued").rows, of("queued").more), (10_000, true));
        assert_eq!((of("sent").rows, of("sent").more), (3, false));
        assert_eq!((of("failed").rows, of("failed").more), (0, false));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requeue_gives_a_fresh_budget_once() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(4).await;
        server
            .run(
                "UPDATE mail_outbox SET status = 'failed', retry_count = 5, last_error = 'x', \
                  last_attempt_at = now() - interval '1 h' WHERE id < 4",
            )
            .await;
        server.run("UPDATE mail_outbox SET last_attempt_at = now() - interval '2 d' WHERE id = 3").await;
        let which = SelectedRows::Ids(vec!["1".into(), "4".into(), "99".into(), "nonsense".into()]);
        assert_eq!(store.requeue(&which).await.expect("requeue"), 1);
        assert_eq!(store.requeue(&which).await.expect("again"), 0);
        let row = "SELECT concat_ws(' ', status, retry_count, last_error IS NULL, next_attempt_at <= now()) \
                   FROM mail_outbox WHERE id = 1";
        assert_eq!(server.text(row).await.as_deref(), Some("queued 0 t t"));
        let since = Some(Duration::from_hours(24));
        let young = SelectedRows::State { state: "failed".into(), since, limit: 10 };
        assert_eq!(store.requeue(&young).await.expect("requeue"), 1);
        assert_eq!(
            server.text("SELECT status FROM mail_outbox WHERE id = 3").await.as_deref(),
            Some("failed")
        );
        let wrong = SelectedRows::State { state: "sent".into(), since: None, limit: 10 };
        assert!(store.requeue(&wrong).await.is_err());
        assert!(
            store.cancel(&SelectedRows::Ids(vec!["1".into()])).await.is_err(),
            "mail_outbox has no cancel"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lag_is_that_of_the_oldest_row() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        let lag = store.lag().await.expect("lag");
        assert_eq!((lag.oldest_due_seconds, lag.oldest_claim_seconds), (None, None));
        server.insert_mails(2).await;
        server.run("UPDATE mail_outbox SET next_attempt_at = now() - interval '1 h' WHERE id = 1").await;
        claim(&store, 1).await;
        server.run("UPDATE mail_outbox SET last_attempt_at = now() - interval '10 s' WHERE id = 1").await;
        server.run("UPDATE mail_outbox SET next_attempt_at = now() - interval '50 s' WHERE id = 2").await;
        let lag = store.lag().await.expect("lag");
        assert!((50.0..55.0).contains(&lag.oldest_due_seconds.expect("due")), "{lag:?}");
        assert!((10.0..15.0).contains(&lag.oldest_claim_seconds.expect("claimed")), "{lag:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_has_no_finding_after_migrate_and_names_the_missing_index() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        let findings = store.verify().await.expect("verify");
        assert!(findings.iter().all(|finding| finding.level != Level::Error), "{findings:?}");
        assert!(findings.iter().any(|finding| finding.text.contains("SKIP LOCKED")), "{findings:?}");
        let scans = |finding: &&Finding| finding.text.contains("claim reads");
        assert!(findings.iter().find(scans).is_none_or(|finding| finding.level == Level::Ok), "{findings:?}");
        server
            .run(
                "DO $$ DECLARE i text; BEGIN FOR i IN SELECT indexrelid::regclass::text FROM pg_index \
                  WHERE indrelid = 'mail_outbox'::regclass AND NOT indisunique LOOP \
                  EXECUTE 'DROP INDEX ' || i; END LOOP; END $$",
            )
            .await;
        let findings = store.verify().await.expect("verify");
        let fix = findings.iter().find(|finding| finding.level == Level::Warning && finding.fix.is_some());
        let fix = fix.expect("a warning with its remedy").fix.clone().expect("DDL");
        assert!(fix.contains("CREATE INDEX"), "{fix}");
    })
    .await;
}

/// Ids of the rows of each page.
async fn pages(store: &impl Inspect, state: &str, order: Order) -> Vec<Vec<i64>> {
    let mut query = Query { state: Some(state.into()), limit: 4, order, ..Query::default() };
    let mut pages = Vec::new();
    loop {
        let page = store.list(&query).await.expect("a page");
        pages.push(page.rows.iter().map(|row| row.id.parse().expect("a number")).collect());
        match page.next {
            Some(next) => query.after = Some(next),
            None => return pages,
        }
    }
}

/// The count of a state, and whether there may be more rows.
async fn counted(store: &impl Inspect, state: &str) -> (u64, bool) {
    let counts = store.count_by_state().await.expect("census");
    let count = counts.into_iter().find(|count| count.state == state).expect("listed");
    (count.rows, count.more)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_without_an_index_is_read_in_parts_and_completely() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(120_000).await;
        // Six delivered rows behind a backlog, and a few failed and spent ones.
        server.run("UPDATE mail_outbox SET status = 'sent' WHERE id <= 6").await;
        server.run("UPDATE mail_outbox SET status = 'failed' WHERE id IN (50, 60000)").await;
        server.run("UPDATE mail_outbox SET retry_count = 5 WHERE id = 70").await;
        server.run("VACUUM ANALYZE mail_outbox").await;
        let newest: [&[i64]; 2] = [&[6, 5, 4, 3], &[2, 1]];
        assert_eq!(pages(&*store, "sent", Order::Newest).await, newest);
        // The second page reads a part of the table, and the third the rest.
        let oldest: [&[i64]; 3] = [&[1, 2, 3, 4], &[5, 6], &[]];
        assert_eq!(pages(&*store, "sent", Order::Oldest).await, oldest);
        assert_eq!(pages(&*store, "failed", Order::Newest).await, [[60_000, 50]]);
        let query = Query { state: Some("queued".into()), limit: 4, ..Query::default() };
        let queued = store.list(&query).await.expect("a page");
        assert_eq!(queued.rows.first().map(|row| row.id.as_str()), Some("120000"));
        assert_eq!(counted(&*store, "failed").await, (2, false), "the index of rare rows has all of them");
        assert_eq!(counted(&*store, "sent").await, (6, true), "50,000 rows were read: there may be more");
        assert_eq!(store.sweep(SweepKind::Exhausted, 10).await.expect("sweep"), 1);
        assert_eq!(counted(&*store, "failed").await, (3, false));
        // Few ready rows are found by the claim's index, wherever they are.
        server.run("UPDATE mail_outbox SET status = 'sent' WHERE id > 10").await;
        let few: [&[i64]; 2] = [&[10, 9, 8, 7], &[]];
        assert_eq!(pages(&*store, "queued", Order::Newest).await, few);
        assert_eq!(counted(&*store, "queued").await, (4, false));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_of_an_earlier_version_is_named_with_its_drop() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        let unneeded = |findings: Vec<Finding>| {
            let named = findings.into_iter().filter(|finding| finding.text.contains("no longer needed"));
            named.map(|finding| finding.fix.expect("with its drop")).collect::<Vec<_>>()
        };
        assert_eq!(unneeded(store.verify().await.expect("verify")), Vec::<String>::new());
        let states = "CREATE INDEX mail_outbox_queued_state ON mail_outbox (id) WHERE status = 'queued'";
        server.run(states).await;
        server.run("CREATE INDEX their_own ON mail_outbox (id) WHERE status = 'queued'").await;
        let drop = unneeded(store.verify().await.expect("verify"));
        assert_eq!(drop, ["DROP INDEX CONCURRENTLY \"mail_outbox_queued_state\""]);
        server.run(&drop[0]).await;
        assert_eq!(unneeded(store.verify().await.expect("verify")), Vec::<String>::new());
    })
    .await;
}
