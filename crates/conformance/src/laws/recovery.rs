//! Laws of leases: expired ones are reclaimed, live ones are kept.

use std::time::Duration;

use postrider_contract::{ColumnRole, LEASE_EXPIRED, LEAST_CRASHES, Transition};
use postrider_seams::store::{LeaseResult, Reclaimed};

use crate::cell::Cell;
use crate::expected::Expected;
use crate::row::SECOND;
use crate::subject::Subject;
use crate::test_case::{TestCase, retry_transient};
use crate::test_table::TestedStore;

/// Returns the expected answer of a reclaim, by the number of rows retried, dead and handed back at no cost.
fn reclaimed(retried: u64, dead: u64, free: u64) -> Reclaimed {
    Reclaimed { retried, dead, free }
}

pub(crate) async fn crash_is_recovered(case: &TestCase) {
    let expected = Expected::of(&case.subject);
    let (gone, next) = (case.worker("gone").await, case.worker("next").await);
    let (id, first) = case.claimed_by(&gone, 1).await;
    // Delivered, but never settled.
    case.crash(&gone, &id, &first).await;
    assert!(next.claim(10).await.is_empty(), "an expired lease is first taken back");
    assert_eq!(next.reclaim().await, reclaimed(1, 0, 0));
    case.assert_state(&id, case.subject.stage().retryable).await;
    assert_eq!(case.attempts(&id).await, i64::from(expected.recovery_counts), "recovery counts as said");
    let row = case.row(&id).await;
    if expected.recovery_counts {
        case.assert_error(&row, LEASE_EXPIRED);
    }
    assert_eq!(next.reclaim().await, Reclaimed::default(), "a second reclaim finds nothing");
    let again = next.claim_one().await;
    assert_eq!(again.lease.id, first.lease.id, "it is delivered again");
    assert_eq!(i64::from(again.counters.attempts), case.attempts(&id).await);
    assert_eq!(again.crashes, 1);
    assert_eq!(next.settle_with(&again, Transition::Delivered).await, LeaseResult::Held);
}

pub(crate) async fn held_rows_come_back_free(case: &TestCase) {
    let (gone, next) = (case.worker("gone").await, case.worker("next").await);
    let ids = case.put_ready(2).await;
    let before = [case.row(&ids[0]).await, case.row(&ids[1]).await];
    let claimed = gone.claim(10).await;
    assert_eq!(claimed.len(), 2);
    // The worker had begun the other row, and has settled it since.
    let other = claimed.iter().find(|row| case.is(&ids[1], &row.lease.id)).expect("both");
    assert_eq!(gone.begin(&other.lease).await, LeaseResult::Held);
    assert_eq!(gone.settle_with(other, Transition::Released).await, LeaseResult::Held);
    case.expire(&ids[0]).await;
    assert_eq!(next.reclaim().await, reclaimed(0, 0, 1));
    case.assert_state(&ids[0], case.subject.untried()).await;
    assert_eq!(case.attempts(&ids[0]).await, 0, "nothing was tried, so it costs nothing");
    let after = case.row(&ids[0]).await;
    assert_eq!(
        case.role(&after, ColumnRole::Error),
        case.role(&before[0], ColumnRole::Error),
        "no error is claimed"
    );
    assert_eq!(
        case.role(&after, ColumnRole::Due),
        case.role(&before[0], ColumnRole::Due),
        "it is due as before"
    );
    let again = next.claim(10).await;
    assert_eq!(again.len(), 2, "both are due at once");
    assert!(again.iter().all(|row| row.crashes == 0), "and no crash is counted");
}

pub(crate) async fn begin_checks_the_lease(case: &TestCase) {
    let (slow, quick) = (case.worker("slow").await, case.worker("quick").await);
    let (id, old) = case.claimed_by(&slow, 1).await;
    assert_eq!(slow.begin(&old.lease).await, LeaseResult::Held);
    let before = case.row(&id).await;
    assert_eq!(slow.begin(&old.lease).await, LeaseResult::Held, "as often as it likes");
    assert_eq!(case.row(&id).await, before, "a mark does not touch the row");
    case.expire(&id).await;
    assert_eq!(slow.begin(&old.lease).await, LeaseResult::Lost, "its time is over, taken back or not");
    assert_eq!(quick.reclaim().await, reclaimed(0, 0, 1), "its send was cancelled: no crash is charged");
    assert_eq!(case.attempts(&id).await, 0);
    assert_eq!(slow.begin(&old.lease).await, LeaseResult::Lost);
    let new = quick.claim_one().await;
    assert_eq!(new.crashes, 0);
    assert_eq!(slow.begin(&old.lease).await, LeaseResult::Lost, "another worker has it");
    assert_eq!(quick.begin(&new.lease).await, LeaseResult::Held);
}

pub(crate) async fn begun_marks_survive_extension(case: &TestCase) {
    let (gone, next) = (case.worker("gone").await, case.worker("next").await);
    let (id, mut claimed) = case.claimed_by(&gone, 1).await;
    assert_eq!(gone.begin(&claimed.lease).await, LeaseResult::Held);
    claimed.lease = gone.extend(&claimed.lease).await.expect("it is held");
    case.crash(&gone, &id, &claimed).await;
    assert_eq!(next.reclaim().await, reclaimed(1, 0, 0), "it was begun");
}

pub(crate) async fn completed_tries_clear_crashes(case: &TestCase) {
    let worker = case.worker("a").await;
    let id = case.put(case.ready_row(1).await).await;
    for crashes in 0..2 {
        let claimed = worker.claim_one().await;
        assert_eq!(claimed.crashes, crashes);
        case.crash(&worker, &id, &claimed).await;
        assert_eq!(worker.reclaim().await, reclaimed(1, 0, 0));
    }
    // Keep the attempt counter low: attempts must not end the row here.
    let attempts = case.subject.column(ColumnRole::Attempts).expect("every contract counts").to_owned();
    case.set(&id, &attempts, Cell::Int(0)).await;
    let free = worker.claim_one().await;
    assert_eq!(free.crashes, 2);
    assert_eq!(worker.settle_with(&free, Transition::Released).await, LeaseResult::Held);
    let tried = worker.claim_one().await;
    assert_eq!(tried.crashes, 2, "handed back untried: nothing has changed");
    assert_eq!(worker.settle_with(&tried, Transition::Retry).await, LeaseResult::Held);
    case.age(&id, Duration::from_hours(2)).await;
    assert_eq!(worker.claim_one().await.crashes, 0, "a try that was completed clears them");
}

pub(crate) async fn live_lease_is_left_alone(case: &TestCase) {
    let (holder, other) = (case.worker("holder").await, case.worker("other").await);
    let (id, claimed) = case.claimed_by(&holder, 1).await;
    for wait in [Duration::ZERO, case.subject.stage().lease.duration.saturating_sub(Duration::from_secs(20))]
    {
        case.age_lease(&id, wait).await;
        let before = case.row(&id).await;
        assert_eq!(other.reclaim().await, Reclaimed::default(), "after {wait:?}");
        assert!(other.claim(10).await.is_empty());
        assert_eq!(case.row(&id).await, before);
    }
    if case.subject.has(ColumnRole::LeaseUntil) {
        // The fence is unchanged, so the holder can still settle.
        assert_eq!(holder.settle_with(&claimed, Transition::Delivered).await, LeaseResult::Held);
    }
}

pub(crate) fn no_poison_guard(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    (!subject.stage().lease.spend).then_some("recovery costs nothing; take-overs are counted instead")
}

pub(crate) async fn poison_guard(case: &TestCase) {
    let expected = Expected::of(&case.subject);
    let worker = case.worker("a").await;
    let id = case.put(case.ready_row(1).await).await;
    let crashes = expected.tries.max(LEAST_CRASHES);
    for crash in 1..=crashes {
        let claimed = worker.claim_one().await;
        assert_eq!(claimed.crashes, crash - 1, "crashes are counted");
        // `crash` ages the table's times but not the time of the crash.
        assert!((0..60 * SECOND).contains(&claimed.since_crash), "{} µs since the last", claimed.since_crash);
        case.crash(&worker, &id, &claimed).await;
        let last = crash == crashes;
        assert_eq!(worker.reclaim().await, reclaimed(u64::from(!last), u64::from(last), 0), "crash {crash}");
        let attempts = case.attempts(&id).await;
        assert!(last || attempts < i64::from(expected.tries), "a crash never spends the last attempt");
    }
    case.assert_state(&id, case.subject.stage().dead).await;
    let row = case.row(&id).await;
    case.assert_error(&row, "poison");
    assert!(worker.claim(10).await.is_empty(), "it kills no more workers");
}

pub(crate) async fn crashes_never_spend_the_last_attempt(case: &TestCase) {
    let expected = Expected::of(&case.subject);
    let worker = case.worker("a").await;
    let attempts = case.subject.column(ColumnRole::Attempts).expect("every contract counts").to_owned();
    let left = i64::from(expected.tries) - 1;
    for n in 1..=3 {
        let mut row = case.ready_row(n).await;
        row.insert(attempts.clone(), Cell::Int(left));
        let id = case.put(row).await;
        let claimed = worker.claim_one().await;
        case.crash(&worker, &id, &claimed).await;
        assert_eq!(retry_transient(|| worker.store.reclaim(1)).await, reclaimed(1, 0, 0), "row {n}");
        assert_eq!(case.attempts(&id).await, left);
        let again = worker.claim_one().await;
        assert_eq!(
            (again.crashes, i64::from(again.counters.attempts)),
            (1, left),
            "its last try is still to come"
        );
        case.finish_by_hand(&id).await;
    }
}

pub(crate) fn no_foreign_claims(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    (!subject.has(ColumnRole::LeaseUntil)).then_some("its lease is the claim time that every worker writes")
}

pub(crate) async fn foreign_claims_expire(case: &TestCase) {
    let worker = case.worker("a").await;
    let id = case.put(case.row_in(1, case.subject.claimed()).await).await;
    let now = case.table.now().await;
    let claimed_at =
        case.subject.column(ColumnRole::ClaimedAt).expect("the contract has a claim-time column").to_owned();
    // Our lease would have expired; the other program's is counted from the claim, and is longer.
    case.set(&id, &claimed_at, Cell::Time(now - 4 * 60 * SECOND)).await;
    assert_eq!(worker.reclaim().await, Reclaimed::default(), "after four minutes");
    case.set(&id, &claimed_at, Cell::Time(now - 6 * 60 * SECOND)).await;
    assert_eq!(worker.reclaim().await, reclaimed(0, 0, 1), "after six minutes");
    case.assert_state(&id, case.subject.untried()).await;
}

pub(crate) fn no_claims_without_a_time(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    let has_time = subject.contract.nullable_claim_time(subject.stage()).is_none();
    has_time.then_some("its claimed rows always have a claim time")
}

/// Rule O5: rows that another program claimed before the table had a column for the claim time.
pub(crate) async fn claims_without_a_time_expire(case: &TestCase) {
    let (worker, other) = (case.worker("a").await, case.worker("b").await);
    let stage = case.subject.stage();
    let claimed_at =
        case.subject.column(ColumnRole::ClaimedAt).expect("the contract has a claim-time column").to_owned();
    let mut row = case.row_in(1, case.subject.claimed()).await;
    row.insert(claimed_at.clone(), Cell::Null);
    if let Some(created) = case.subject.column(ColumnRole::Created) {
        // The row is old but its claim may be recent: only the age of the claim counts.
        row.insert(created.to_owned(), Cell::Time(case.table.now().await - 24 * 3600 * SECOND));
    }
    let id = case.put(row).await;
    let before = case.row(&id).await;
    assert_eq!(worker.reclaim().await, Reclaimed::default(), "it may be in work: it gets a whole lease");
    let stamped = case.row(&id).await;
    let age = case.table.now().await - stamped[&claimed_at].as_time().expect("it was stamped");
    assert!((-SECOND..60 * SECOND).contains(&age), "with the time of the first reclaim, not {age}");
    assert_eq!(
        before,
        {
            let mut row = stamped.clone();
            row.insert(claimed_at.clone(), Cell::Null);
            row
        },
        "nothing else"
    );
    assert_eq!(other.reclaim().await, Reclaimed::default());
    assert_eq!(case.row(&id).await, stamped, "later reclaims do not change it");
    let lease = if case.subject.has(ColumnRole::LeaseUntil) {
        stage.lease.duration_without_lease_until
    } else {
        stage.lease.duration
    };
    let back = i64::try_from(lease.as_micros()).expect("short") + 10 * SECOND;
    case.set(&id, &claimed_at, Cell::Time(case.table.now().await - back)).await;
    assert_eq!(worker.reclaim().await, reclaimed(0, 0, 1), "a lease later it is reclaimed");
    case.assert_state(&id, case.subject.untried()).await;
}

pub(crate) async fn extension_keeps_the_lease(case: &TestCase) {
    let (holder, other) = (case.worker("holder").await, case.worker("other").await);
    let (id, claimed) = case.claimed_by(&holder, 1).await;
    let lease = case.subject.stage().lease.duration;
    let first = holder.extend(&claimed.lease).await.expect("it is held");
    if case.subject.has(ColumnRole::LeaseUntil) {
        case.age_lease(&id, lease * 3 / 4).await;
    }
    let second = holder.extend(&first).await.expect("it is still held");
    case.assert_state(&id, case.subject.claimed()).await;
    let (row, now) = (case.row(&id).await, case.table.now().await);
    let micros = i64::try_from(lease.as_micros()).expect("short");
    let end = case.role(&row, ColumnRole::LeaseUntil).as_time();
    let end = end.or_else(|| Some(case.role(&row, ColumnRole::ClaimedAt).as_time()? + micros));
    let left = end.expect("a lease ends") - now;
    assert!((left - micros).abs() < 5 * SECOND, "a whole lease is left again, not {} s", left / SECOND);
    assert_eq!(other.reclaim().await, Reclaimed::default());
    assert_eq!(case.attempts(&id).await, 0, "keeping costs nothing");
    assert_eq!(holder.settle_lease(&second, Transition::Delivered).await, LeaseResult::Held);
    case.assert_state(&id, case.subject.stage().delivered).await;
}

pub(crate) fn no_takeovers(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    subject.stage().lease.poison.is_none().then_some("recovery is counted as an attempt")
}

/// Returns the JSON of the error column.
async fn error_of(case: &TestCase, id: &Cell) -> serde_json::Value {
    let row = case.row(id).await;
    let error = case.role(&row, ColumnRole::Error).as_text().expect("there is an error");
    serde_json::from_str(error).unwrap_or_else(|problem| panic!("{error}: {problem}"))
}

pub(crate) async fn takeovers_are_counted(case: &TestCase) {
    let worker = case.worker("a").await;
    let error = case.subject.column(ColumnRole::Error).expect("checked").to_owned();
    let texts = [
        Cell::Null,
        Cell::text(r#"{"code":"network_error","message":"{\"takeovers\":9}"}"#),
        Cell::text("{}"),
        Cell::text("no JSON"),
    ];
    for (n, before) in texts.into_iter().enumerate() {
        let mut row = case.ready_row(n + 1).await;
        row.insert(error.clone(), before.clone());
        let id = case.put(row).await;
        for times in 1..LEAST_CRASHES {
            let claimed = worker.claim_one().await;
            case.crash(&worker, &id, &claimed).await;
            assert_eq!(worker.reclaim().await, reclaimed(1, 0, 0), "time {times}, {before:?}");
            let recorded = error_of(case, &id).await;
            assert_eq!(recorded["takeovers"], times, "{recorded}");
            match n {
                1 => assert_eq!(
                    (recorded["code"].as_str(), recorded["message"].as_str()),
                    (Some("network_error"), Some(r#"{"takeovers":9}"#))
                ),
                3 => assert_eq!(recorded["message"], "no JSON"),
                _ => {}
            }
            assert_eq!(case.attempts(&id).await, 0, "nothing is counted");
        }
        let claimed = worker.claim_one().await;
        case.crash(&worker, &id, &claimed).await;
        assert_eq!(worker.reclaim().await, reclaimed(0, 1, 0), "the last, {before:?}");
        case.assert_state(&id, case.subject.stage().dead).await;
        let recorded = error_of(case, &id).await;
        assert_eq!((recorded["code"].as_str(), recorded["takeovers"].as_i64()), (Some("poison"), Some(7)));
        assert_eq!(case.attempts(&id).await, 0, "nothing is counted");
    }
}

pub(crate) async fn deferral_is_no_takeover(case: &TestCase) {
    let worker = case.worker("a").await;
    let (id, claimed) = case.claimed_by(&worker, 1).await;
    case.crash(&worker, &id, &claimed).await;
    worker.reclaim().await;
    for _ in 0..6 {
        let claimed = worker.claim_one().await;
        let mut deferral = crate::test_case::settlement(&claimed.lease, Transition::Deferred);
        deferral.delay = Duration::from_mins(10);
        assert_eq!(worker.settle_one(deferral).await, LeaseResult::Held);
        case.age_lease(&id, Duration::from_mins(9)).await;
        assert_eq!(worker.reclaim().await, Reclaimed::default(), "not yet");
        case.age_lease(&id, Duration::from_secs(61)).await;
        assert_eq!(worker.reclaim().await, reclaimed(0, 0, 1));
        assert_eq!(error_of(case, &id).await["takeovers"], 1, "the one before");
    }
}
