//! Laws of settling: how a claim ends.

use std::time::Duration;

use postrider_contract::{ColumnRole, Defer, RESULTS, STORED_RECIPIENTS, Transition};
use postrider_seams::store::{LeaseResult, Settlement};
use postrider_seams::{ClaimedRow, Lease, Value};

use crate::cell::Cell;
use crate::expected::Expected;
use crate::subject::Subject;
use crate::test_case::{TOLERANCE, TestCase, retry_transient, settlement};
use crate::test_table::TestedStore;

pub(crate) async fn delivered(case: &TestCase) {
    let worker = case.worker("a").await;
    let mut row = case.ready_row(1).await;
    if let Some(error) = case.subject.column(ColumnRole::Error) {
        row.insert(error.to_owned(), Cell::text("an old failure"));
    }
    let id = case.put(row).await;
    let claimed = worker.claim_one().await;
    assert_eq!(worker.settle_with(&claimed, Transition::Delivered).await, LeaseResult::Held);
    let target = case.subject.stage().delivered;
    case.assert_state(&id, target).await;
    if case.subject.deletes {
        assert!(case.rows().await.is_empty(), "the row is deleted, not marked");
        return;
    }
    let (row, now) = (case.row(&id).await, case.table.now().await);
    let is_now = |role| case.role(&row, role).as_time().is_some_and(|time| (time - now).abs() < TOLERANCE);
    let error = case.role(&row, ColumnRole::Error).as_text().unwrap_or_default();
    assert_eq!(
        error.contains("an old failure"),
        !Expected::writes_error(&case.subject),
        "success empties the error"
    );
    for role in [ColumnRole::Owner, ColumnRole::LeaseUntil] {
        assert!(case.role(&row, role).is_null(), "{role} is cleared");
    }
    if case.subject.has(ColumnRole::Finished) && !case.subject.begins_another_stage(target) {
        assert!(is_now(ColumnRole::Finished), "it says when");
    }
    if case.subject.has(ColumnRole::Attempted) {
        assert!(is_now(ColumnRole::Attempted), "every try says when");
    }
    if case.subject.has(ColumnRole::Receipt) {
        assert_eq!(case.role(&row, ColumnRole::Receipt).as_text(), Some("m-1"));
    }
    if case.subject.has(ColumnRole::Duration) {
        assert_eq!(case.role(&row, ColumnRole::Duration).as_int(), Some(12));
    }
}

pub(crate) async fn failures_keep_their_reason(case: &TestCase) {
    let worker = case.worker("a").await;
    let failures = [Transition::Retry, Transition::Dead, Transition::Rejected, Transition::Skipped];
    for (n, transition) in failures.into_iter().enumerate() {
        let (id, claimed) = case.claimed_by(&worker, n + 1).await;
        let moved = Settlement { delay: Duration::from_mins(15), ..settlement(&claimed.lease, transition) };
        assert_eq!(worker.settle_one(moved).await, LeaseResult::Held);
        let target = case.subject.stage().target(transition).expect("a failure leads somewhere");
        case.assert_state(&id, target).await;
        let row = case.row(&id).await;
        for role in [ColumnRole::Owner, ColumnRole::LeaseUntil] {
            assert!(case.role(&row, role).is_null(), "{role} is cleared by {transition}");
        }
        case.assert_error(&row, "the relay is busy");
        // A computed due time may be short, so remove the row before the next one.
        case.finish_by_hand(&id).await;
    }
}

pub(crate) async fn release_is_free(case: &TestCase) {
    let worker = case.worker("a").await;
    let mut row = case.ready_row(1).await;
    if let Some(error) = case.subject.column(ColumnRole::Error) {
        row.insert(error.to_owned(), Cell::text("an old failure"));
    }
    let id = case.put(row.clone()).await;
    let claimed = worker.claim_one().await;
    assert_eq!(worker.settle_with(&claimed, Transition::Released).await, LeaseResult::Held);
    case.assert_state(&id, case.subject.untried()).await;
    let after = case.row(&id).await;
    for role in [
        ColumnRole::Attempts,
        ColumnRole::Error,
        ColumnRole::Finished,
        ColumnRole::Attempted,
        ColumnRole::Receipt,
    ] {
        let before = case.role(&row, role);
        assert_eq!(case.role(&after, role), before, "a release changes no {role}");
    }
    worker.claim_one().await;
}

pub(crate) async fn deferral_waits(case: &TestCase) {
    if case.subject.contract.due.defer == Defer::None {
        return;
    }
    let worker = case.worker("a").await;
    let (id, claimed) = case.claimed_by(&worker, 1).await;
    let hour = Duration::from_hours(1);
    let moved = Settlement { delay: hour, ..settlement(&claimed.lease, Transition::Deferred) };
    assert_eq!(worker.settle_one(moved).await, LeaseResult::Held);
    for (wait, claimable) in
        [(Duration::ZERO, 0), (hour.saturating_sub(Duration::from_mins(1)), 0), (Duration::from_secs(70), 1)]
    {
        case.age(&id, wait).await;
        worker.reclaim().await;
        assert_eq!(case.attempts(&id).await, 0, "never tried, so it costs nothing");
        assert_eq!(worker.claim(10).await.len(), claimable, "after {wait:?} more");
    }
}

pub(crate) async fn mixed_batch(case: &TestCase) {
    let worker = case.worker("a").await;
    let kinds = Transition::SETTLES.len();
    let count = kinds * 6;
    case.put_ready(count).await;
    let claimed = worker.claim(u32::try_from(count).expect("few")).await;
    assert_eq!(claimed.len(), count);
    let moves: Vec<Settlement> = claimed
        .iter()
        .enumerate()
        .map(|(n, row)| {
            let delay = Duration::from_secs(600 + 60 * (n as u64 % 3));
            Settlement { delay, ..settlement(&row.lease, Transition::SETTLES[n % kinds]) }
        })
        .collect();
    // Settle every fifth row beforehand, so that its lease is void in the batch.
    let early: Vec<Settlement> = moves.iter().step_by(5).cloned().collect();
    let answers = worker.settle(&early).await;
    assert!(answers.iter().all(|held| *held == LeaseResult::Held), "{answers:?}");
    let answers = worker.settle(&moves).await;
    assert_eq!(answers.len(), count);
    let rows = case.rows().await;
    for (n, (answer, settled)) in answers.iter().zip(&moves).enumerate() {
        let wanted = if n % 5 == 0 { LeaseResult::Lost } else { LeaseResult::Held };
        assert_eq!(*answer, wanted, "{} at place {n}", settled.transition);
        let table = &case.subject.contract.table;
        let row = rows.iter().find(|row| case.is(&row[&table.id], &settled.lease.id));
        let deleted = case.subject.deletes.then_some(case.subject.stage().delivered);
        let found = row.map_or(deleted, |row| crate::row::state_of(&case.subject, row));
        let by_lock =
            settled.transition == Transition::Deferred && case.subject.contract.due.defer == Defer::Lease;
        let target = match settled.transition {
            _ if by_lock => Some(case.subject.claimed()),
            Transition::Deferred | Transition::Released => Some(case.subject.untried()),
            transition => case.subject.stage().target(transition),
        };
        assert_eq!(found, target, "{} at place {n}", settled.transition);
    }
}

pub(crate) fn no_mail(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    (!subject.stage().sends_mail()).then_some("it sends no mail")
}

/// Returns a settlement with a result for each recipient.
fn partly(lease: &Lease, transition: Transition, second: &str) -> Settlement {
    let results = format!(
        r#"[{{"address":"a@x.test","result":"accepted"}},{{"address":"b@x.test","result":"{second}","reply":"it's \"busy\""}}]"#
    );
    let mut partly = settlement(lease, transition);
    for name in ["recipients", STORED_RECIPIENTS] {
        partly.outcome.insert(name.to_owned(), Value::Text(results.clone()));
    }
    partly
}

pub(crate) async fn recipients_are_remembered(case: &TestCase) {
    let worker = case.worker("a").await;
    let mut row = case.ready_row(1).await;
    // The memory store's table has this column as a required one.
    let columns = case.subject.contract.message_columns();
    if let Some((_, column)) =
        columns.iter().find(|(field, column)| field == RESULTS && row.contains_key(column))
    {
        row.insert(column.clone(), Cell::Null);
    }
    case.put(row).await;
    let first = worker.claim_one().await;
    let remembered = |claimed: &ClaimedRow| {
        let fields = claimed.fields.as_ref().expect("it is small");
        fields
            .get(RESULTS)
            .as_text()
            .map(|text| serde_json::from_str::<serde_json::Value>(text).expect("JSON"))
    };
    assert_eq!(remembered(&first), None);
    assert_eq!(
        worker.settle_one(partly(&first.lease, Transition::Retry, "deferred")).await,
        LeaseResult::Held
    );
    let second = worker.claim_one().await;
    let results = remembered(&second).expect("it comes with the claim");
    assert_eq!(results[1]["result"], "deferred", "{results}");
    assert_eq!(results[1]["reply"], "it's \"busy\"");
    let loaded = retry_transient(|| worker.store.load(std::slice::from_ref(&second.lease))).await;
    assert_ne!(loaded[0].as_ref().expect("it is there").get(RESULTS), &Value::Null, "a load has it too");
    assert_eq!(
        worker.settle_one(partly(&first.lease, Transition::Retry, "accepted")).await,
        LeaseResult::Lost
    );
    let plain = settlement(&second.lease, Transition::Retry);
    assert_eq!(worker.settle_one(plain).await, LeaseResult::Held);
    let third = worker.claim_one().await;
    assert_eq!(remembered(&third), Some(results), "what says nothing of recipients forgets none");
    // A mail that was interrupted: no attempt, but these recipients have it.
    assert_eq!(
        worker.settle_one(partly(&third.lease, Transition::Deferred, "refused")).await,
        LeaseResult::Held
    );
    let fourth = worker.claim_one().await;
    assert_eq!(fourth.counters.attempts, third.counters.attempts, "a deferral costs nothing");
    assert_eq!(remembered(&fourth).expect("remembered")[1]["result"], "refused");
    let plain = settlement(&fourth.lease, Transition::Deferred);
    assert_eq!(worker.settle_one(plain).await, LeaseResult::Held);
    let last = worker.claim_one().await;
    assert_eq!(remembered(&last), remembered(&fourth), "nor does a deferral without results");
}
