use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::inspect::{Inspect as _, Level, Query, SelectedRows};
use postrider_seams::row::{RowId, Value};
use postrider_seams::store::{Class, LeaseResult, Reclaimed, Settlement, Store as _, SweepKind};

use crate::server::{claim, settlement, with_database};

/// The columns that the tests compare, in one line.
const ROW: &str = "SELECT CONCAT_WS('|', status, retry_count, COALESCE(last_error, '-'), \
    COALESCE(provider_message_id, '-'), sent_at IS NOT NULL, \
    ROUND(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), next_attempt_at) / 1000000), COALESCE(claimed_by, '-')) \
    FROM mail_outbox WHERE id = ";

#[tokio::test(flavor = "multi_thread")]
async fn m01_a_claim_takes_due_rows_in_order_and_marks_them() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(5).await;
        server
            .run("UPDATE mail_outbox SET next_attempt_at = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR WHERE id = 2")
            .await;
        server.run("UPDATE mail_outbox SET retry_count = 5 WHERE id = 3").await;
        server
            .run("UPDATE mail_outbox SET next_attempt_at = UTC_TIMESTAMP(6) - INTERVAL 1 DAY WHERE id = 5")
            .await;
        let rows = claim(&store, 10).await;
        let ids: Vec<RowId> = rows.iter().map(|row| row.lease.id.clone()).collect();
        assert_eq!(ids, [RowId::Int(5), RowId::Int(1), RowId::Int(4)]);
        assert_eq!(rows[0].fields.as_ref().expect("small").get("subject"), &Value::Text("mail 5".into()));
        assert!(rows[0].waited_micros >= 86_400_000_000, "{}", rows[0].waited_micros);
        let fence = rows[0].lease.fence[0].as_text().expect("text").to_owned();
        let marked = format!(
            "SELECT COUNT(*) FROM mail_outbox WHERE status = 'dispatching' AND last_attempt_at = '{fence}'"
        );
        assert_eq!(server.text(&marked).await.as_deref(), Some("3"), "the fence is what was written");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m03_each_transition_writes_exactly_what_it_should() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(7).await;
        server.run("UPDATE mail_outbox SET next_attempt_at = UTC_TIMESTAMP(6), last_error = 'before'").await;
        let rows = claim(&store, 7).await;
        let mut moves: Vec<Settlement> =
            rows.iter().zip(Transition::SETTLES).map(|(row, to)| settlement(&row.lease, to)).collect();
        for one in &mut moves {
            one.reason =
                one.transition.is_failure().then(|| format!("why {} \\ 'q' \u{1f4ee}", one.transition));
            one.delay = Duration::from_mins(2);
        }
        moves[0].receipt = Some("<1@relay>".into());
        assert_eq!(store.settle(&moves).await.expect("settle"), [LeaseResult::Held; 7]);
        let expected = [
            "sent|0|-|<1@relay>|1|0|-",
            "queued|1|why retry \\ 'q' \u{1f4ee}|-|0|120|-",
            "failed|1|why dead \\ 'q' \u{1f4ee}|-|0|0|-",
            "failed|1|why rejected \\ 'q' \u{1f4ee}|-|0|0|-",
            "failed|1|why skipped \\ 'q' \u{1f4ee}|-|0|0|-",
            "queued|0|before|-|0|120|-",
            "queued|0|before|-|0|0|-",
        ];
        for (one, expected) in moves.iter().zip(expected) {
            let row = server.text(&format!("{ROW}{}", one.lease.id)).await;
            assert_eq!(
                row.map(|row| row.replace("|-0|", "|0|")).as_deref(),
                Some(expected),
                "{}",
                one.transition
            );
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_fence_changes_nothing() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(1).await;
        let first = claim(&store, 1).await.remove(0);
        store.settle(&[settlement(&first.lease, Transition::Released)]).await.expect("release");
        let second = claim(&store, 1).await.remove(0);
        assert_ne!(first.lease.fence, second.lease.fence);
        for transition in Transition::SETTLES {
            let held = store.settle(&[settlement(&first.lease, transition)]).await.expect("settle");
            assert_eq!(held, [LeaseResult::Lost], "{transition}");
        }
        assert_eq!(store.extend(std::slice::from_ref(&first.lease)).await.expect("extend"), [None]);
        assert_eq!(server.text("SELECT status FROM mail_outbox").await.as_deref(), Some("dispatching"));
        let extended = store.extend(&[second.lease]).await.expect("extend").remove(0).expect("held");
        let done = settlement(&extended, Transition::Delivered);
        assert_eq!(store.settle(std::slice::from_ref(&done)).await.expect("settle"), [LeaseResult::Held]);
        assert_eq!(store.settle(&[done]).await.expect("again"), [LeaseResult::Lost]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn maintenance_reclaims_ends_and_sweeps_rows() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(4).await;
        let claimed = claim(&store, 3).await;
        store.begin(&[claimed[0].lease.clone()], &[]).await.expect("begin");
        server
            .run("UPDATE mail_outbox SET lease_until = UTC_TIMESTAMP(6) - INTERVAL 1 SECOND WHERE id < 3")
            .await;
        server.run("UPDATE mail_outbox SET retry_count = 4 WHERE id = 2").await;
        server.run("UPDATE mail_outbox SET retry_count = 5 WHERE id = 4").await;
        assert_eq!(store.reclaim(10).await.expect("reclaim"), Reclaimed { retried: 1, dead: 0, free: 1 });
        assert_eq!(store.reclaim(10).await.expect("again"), Reclaimed::default());
        assert_eq!(store.sweep(SweepKind::Exhausted, 10).await.expect("sweep"), 1);
        let rows = "SELECT GROUP_CONCAT(CONCAT(id, status, retry_count) ORDER BY id) FROM mail_outbox";
        assert_eq!(server.text(rows).await.as_deref(), Some("1queued1,2queued4,3dispatching0,4failed5"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_browse_count_and_requeue() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(7).await;
        server.run("UPDATE mail_outbox SET status = 'failed', retry_count = 5 WHERE id <= 3").await;
        let first = store.list(&Query { limit: 5, ..Query::default() }).await.expect("browse");
        let rest =
            store.list(&Query { limit: 5, after: first.next, ..Query::default() }).await.expect("browse");
        let ids: Vec<&str> = first.rows.iter().chain(&rest.rows).map(|row| row.id.as_str()).collect();
        assert_eq!(ids, ["7", "6", "5", "4", "3", "2", "1"]);
        let counts = store.count_by_state().await.expect("census");
        assert!(counts.iter().any(|count| count.state == "failed" && count.rows == 3), "{counts:?}");
        // Three keys are padded to four: the repeated key must not count twice.
        let which = SelectedRows::Ids(vec!["1".into(), "2".into(), "3".into()]);
        assert_eq!(store.requeue(&which).await.expect("requeue"), 3);
        assert_eq!(store.requeue(&which).await.expect("again"), 0);
        assert_eq!(server.text("SELECT MAX(retry_count) FROM mail_outbox").await.as_deref(), Some("0"));
        let shown = store.show("5").await.expect("show").expect("there");
        assert!(
            shown.columns.iter().any(|(name, value)| name == "subject" && value.as_deref() == Some("mail 5"))
        );
        assert!(store.lag().await.expect("lag").oldest_due_seconds.expect("due") >= 0.0);
        assert_eq!(store.next_due().await.expect("next due"), Some(Duration::ZERO));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_and_pauses_hold_for_all_instances() {
    with_database(|server| async move {
        let (one, two) = (server.mail_store().await, server.mail_store().await);
        let long = Duration::from_mins(1);
        assert!(
            one.lock("purge", long).await.expect("lock") && one.lock("purge", long).await.expect("renewed")
        );
        assert!(!two.lock("purge", long).await.expect("refused"));
        server.run("UPDATE postrider_locks SET expires_at = UTC_TIMESTAMP(6) - INTERVAL 1 SECOND").await;
        assert!(two.lock("purge", long).await.expect("run out"));
        assert!(!one.lock("purge", long).await.expect("refused"));
        two.unlock("purge").await.expect("unlock");
        assert!(one.lock("purge", long).await.expect("given back"));
        one.set_paused("mail", true).await.expect("pause");
        assert!(two.paused("mail").await.expect("paused") && !two.paused("other").await.expect("paused"));
        two.set_paused("mail", false).await.expect("resume");
        assert!(!one.paused("mail").await.expect("paused"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_has_no_finding_after_migrate_and_names_the_missing_index() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(3000).await;
        server.run("ANALYZE TABLE mail_outbox").await;
        let findings = store.verify().await.expect("verify");
        assert!(findings.iter().all(|finding| finding.level == Level::Ok), "{findings:?}");
        let indexes: Option<String> = server
            .text(
                "SELECT GROUP_CONCAT(DISTINCT index_name) FROM information_schema.statistics \
                   WHERE table_schema = DATABASE() AND table_name = 'mail_outbox' AND non_unique = 1",
            )
            .await;
        for index in indexes.expect("there are some").split(',') {
            server.run(&format!("DROP INDEX `{index}` ON mail_outbox")).await;
        }
        let findings = store.verify().await.expect("verify");
        let warning = findings.iter().find(|finding| finding.text.contains("the claim reads more"));
        let fix = warning.expect("a warning").fix.clone().expect("with its remedy");
        assert!(fix.contains("CREATE INDEX"), "{fix}");
        server.run(&fix).await;
        server.run("ANALYZE TABLE mail_outbox").await;
        let findings = store.verify().await.expect("verify");
        assert!(
            !findings.iter().any(|finding| finding.text.contains("the claim reads more")),
            "{findings:?}"
        );
    })
    .await;
}

/// A trigger on a quiet lane: nothing says whether the cause is in the row, and its outcome must not be forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_settle_of_the_only_row_is_an_error() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(1).await;
        let row = claim(&store, 1).await.remove(0);
        server
            .run(
                "CREATE TRIGGER refuse BEFORE UPDATE ON mail_outbox FOR EACH ROW \
                 IF NEW.status = 'sent' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END IF",
            )
            .await;
        let done = settlement(&row.lease, Transition::Delivered);

        let error = store.settle(std::slice::from_ref(&done)).await.expect_err("refused");

        assert_eq!(error.class, Class::Permanent, "{error}");
        server.run("DROP TRIGGER refuse").await;
        assert_eq!(store.settle(&[done]).await.expect("settle"), [LeaseResult::Held]);
    })
    .await;
}
