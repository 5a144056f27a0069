use std::collections::HashSet;
use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::inspect::{Inspect as _, Level, Query, SelectedRows};
use postrider_seams::row::RowId;
use postrider_seams::store::{Class, LeaseResult, Reclaimed, Settlement, Store as _};

use crate::file::{File, claim, contract, settlement};

/// The columns that the tests compare, in one line.
const ROW: &str = "SELECT status || '|' || retry_count || '|' || coalesce(last_error, '-') || '|' || \
    coalesce(provider_message_id, '-') || '|' || (sent_at IS NOT NULL) || '|' || \
    CAST(round((julianday(next_attempt_at) - julianday('now')) * 86400) AS INTEGER) || '|' || coalesce(claimed_by, '-') \
    FROM mail_outbox WHERE id = ";

#[tokio::test(flavor = "multi_thread")]
async fn m01_a_claim_takes_due_rows_in_order_and_marks_them() {
    let file = File::new();
    let store = file.mail_store().await;
    file.insert_mails(4).await;
    file.run("UPDATE mail_outbox SET next_attempt_at = '2999-01-01T00:00:00.000Z' WHERE id = 2").await;
    // The format of SQLite's CURRENT_TIMESTAMP is accepted as a time.
    file.run("UPDATE mail_outbox SET next_attempt_at = '2001-01-01 00:00:00' WHERE id = 4").await;
    let ids: Vec<RowId> = claim(&store, 10).await.into_iter().map(|row| row.lease.id).collect();
    assert_eq!(ids, [RowId::Int(4), RowId::Int(1), RowId::Int(3)]);
    let marked = "SELECT group_concat(id) FROM mail_outbox WHERE status = 'dispatching' AND last_attempt_at IS NOT NULL";
    assert_eq!(file.text(marked).await.as_deref(), Some("1,3,4"));
}

#[tokio::test(flavor = "multi_thread")]
async fn m03_each_transition_writes_exactly_what_it_should() {
    let file = File::new();
    let store = file.mail_store().await;
    file.insert_mails(7).await;
    file.run("UPDATE mail_outbox SET next_attempt_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), last_error = 'before'").await;
    let rows = claim(&store, 7).await;
    let mut moves: Vec<Settlement> =
        rows.iter().zip(Transition::SETTLES).map(|(row, to)| settlement(&row.lease, to)).collect();
    for one in &mut moves {
        one.reason = one.transition.is_failure().then(|| format!("why {}", one.transition));
        one.delay = Duration::from_mins(2);
    }
    moves[0].receipt = Some("<1@relay>".into());
    assert_eq!(store.settle(&moves).await.expect("settle"), [LeaseResult::Held; 7]);
    let expected = [
        "sent|0|-|<1@relay>|1|0|-",
        "queued|1|why retry|-|0|120|-",
        "failed|1|why dead|-|0|0|-",
        "failed|1|why rejected|-|0|0|-",
        "failed|1|why skipped|-|0|0|-",
        "queued|0|before|-|0|120|-",
        "queued|0|before|-|0|0|-",
    ];
    for (one, expected) in moves.iter().zip(expected) {
        let row = file.text(&format!("{ROW}{}", one.lease.id)).await;
        assert_eq!(row.as_deref(), Some(expected), "{}", one.transition);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_fence_changes_nothing() {
    let file = File::new();
    let store = file.mail_store().await;
    file.insert_mails(1).await;
    let first = claim(&store, 1).await.remove(0);
    store.settle(&[settlement(&first.lease, Transition::Released)]).await.expect("release");
    let second = claim(&store, 1).await.remove(0);
    assert_ne!(first.lease.fence, second.lease.fence, "within one millisecond, and still later");
    for transition in Transition::SETTLES {
        let held = store.settle(&[settlement(&first.lease, transition)]).await.expect("settle");
        assert_eq!(held, [LeaseResult::Lost], "{transition}");
    }
    assert_eq!(store.extend(std::slice::from_ref(&first.lease)).await.expect("extend"), [None]);
    assert_eq!(file.text("SELECT status FROM mail_outbox").await.as_deref(), Some("dispatching"));
    let extended = store.extend(&[second.lease]).await.expect("extend").remove(0).expect("held");
    let held = store.settle(&[settlement(&extended, Transition::Delivered)]).await.expect("settle");
    assert_eq!(held, [LeaseResult::Held]);
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_are_exclusive_under_eight_claimers_of_three_processes_worth_of_writers() {
    let file = File::new();
    file.mail_store().await;
    file.insert_mails(400).await;
    let stores = [file.mail_store().await, file.mail_store().await, file.mail_store().await];
    let mut claimers = Vec::new();
    for at in 0..8 {
        let store = stores[at % 3].clone();
        claimers.push(tokio::spawn(async move {
            let mut taken = Vec::new();
            loop {
                let rows = claim(&store, 13).await;
                if rows.is_empty() {
                    return taken;
                }
                taken.extend(rows.into_iter().map(|row| row.lease.id));
            }
        }));
    }
    let mut all = Vec::new();
    for claimer in claimers {
        all.extend(claimer.await.expect("a claimer"));
    }
    assert_eq!((all.len(), all.iter().collect::<HashSet<_>>().len()), (400, 400));
}

#[tokio::test(flavor = "multi_thread")]
async fn m07_begun_rows_go_back_with_an_attempt_spent_and_held_ones_come_back_free() {
    let file = File::new();
    let store = file.mail_store().await;
    file.insert_mails(3).await;
    let claimed = claim(&store, 3).await;
    store.begin(&[claimed[0].lease.clone()], &[]).await.expect("begin");
    file.run("UPDATE mail_outbox SET lease_until = '2001-01-01T00:00:00.000Z' WHERE id < 3").await;
    file.run("UPDATE mail_outbox SET retry_count = 4 WHERE id = 2").await;
    assert_eq!(store.reclaim(10).await.expect("reclaim"), Reclaimed { retried: 1, dead: 0, free: 1 });
    let rows = "SELECT group_concat(id || status || retry_count) FROM mail_outbox";
    assert_eq!(file.text(rows).await.as_deref(), Some("1queued1,2queued4,3dispatching0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_browse_count_requeue_and_purge() {
    let file = File::new();
    let store = file.mail_store().await;
    file.insert_mails(7).await;
    file.run("UPDATE mail_outbox SET status = 'failed', retry_count = 5 WHERE id <= 2").await;
    let first = store.list(&Query { limit: 5, ..Query::default() }).await.expect("browse");
    let rest = store.list(&Query { limit: 5, after: first.next, ..Query::default() }).await.expect("browse");
    let ids: Vec<&str> = first.rows.iter().chain(&rest.rows).map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["7", "6", "5", "4", "3", "2", "1"]);
    let counts = store.count_by_state().await.expect("census");
    assert!(counts.iter().any(|count| count.state == "failed" && count.rows == 2), "{counts:?}");
    let which = SelectedRows::Ids(vec!["1".into(), "2".into(), "3".into()]);
    assert_eq!(store.requeue(&which).await.expect("requeue"), 2);
    assert_eq!(file.text("SELECT max(retry_count) FROM mail_outbox").await.as_deref(), Some("0"));
    assert!(store.lag().await.expect("lag").oldest_due_seconds.is_some());
    let findings = store.verify().await.expect("verify");
    assert!(findings.iter().all(|finding| finding.level == Level::Ok), "{findings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_and_pauses_hold_for_all_processes() {
    let file = File::new();
    let (one, two) = (file.mail_store().await, file.mail_store().await);
    let long = Duration::from_mins(1);
    assert!(one.lock("purge", long).await.expect("lock") && one.lock("purge", long).await.expect("renewed"));
    assert!(!two.lock("purge", long).await.expect("refused"));
    file.run("UPDATE postrider_locks SET expires_at = '2001-01-01T00:00:00.000Z'").await;
    assert!(two.lock("purge", long).await.expect("run out"));
    two.unlock("purge").await.expect("unlock");
    assert!(one.lock("purge", long).await.expect("given back"));
    one.set_paused("mail", true).await.expect("pause");
    assert!(two.paused("mail").await.expect("paused") && !two.paused("other").await.expect("paused"));
}

/// Lanes on one table share only their database: none releases rows that another has claimed.
#[tokio::test(flavor = "multi_thread")]
async fn g02_two_lanes_of_one_process_do_not_release_each_others_rows() {
    let file = File::new();
    file.mail_store().await;
    file.insert_mails(4).await;
    let database = file.database();
    let open = || database.open(contract("mail_outbox"), "dispatch", "test");
    let (one, other) = (open().await.expect("open"), open().await.expect("open"));
    assert_eq!((claim(&one, 2).await.len(), claim(&other, 2).await.len()), (2, 2));
    assert_eq!(one.release_lost_claims(&[]).await.expect("release"), 2);
    assert_eq!(claim(&one, 10).await.len(), 2, "its own are back, the others' are not");
}

/// A trigger on a quiet lane: nothing says whether the cause is in the row, and its outcome must not be forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_settle_of_the_only_row_is_an_error() {
    let file = File::new();
    let store = file.mail_store().await;
    file.insert_mails(1).await;
    let row = claim(&store, 1).await.remove(0);
    file.run(
        "CREATE TRIGGER refuse BEFORE UPDATE ON mail_outbox WHEN NEW.status = 'sent' \
         BEGIN SELECT RAISE(ABORT, 'no'); END",
    )
    .await;
    let done = settlement(&row.lease, Transition::Delivered);
    let error = store.settle(std::slice::from_ref(&done)).await.expect_err("refused");
    assert_eq!(error.class, Class::Permanent, "{error}");
    file.run("DROP TRIGGER refuse").await;
    assert_eq!(store.settle(&[done]).await.expect("settle"), [LeaseResult::Held]);
}
