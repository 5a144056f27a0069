//! Laws of counting: what costs an attempt, which failure is the last, how long a retry waits.

use std::time::Duration;

use postrider_contract::{ColumnRole, NO_ATTEMPTS_LEFT, ResultKind, Transition};
use postrider_seams::store::{LeaseResult, Settlement, SweepKind};

use crate::cell::Cell;
use crate::expected::Expected;
use crate::row::SECOND;
use crate::subject::Subject;
use crate::test_case::{TOLERANCE, TestCase, Worker, settlement};
use crate::test_table::TestedStore;

async fn put_with_attempts(case: &TestCase, n: usize, attempts: u32) -> Cell {
    let mut row = case.ready_row(n).await;
    row.insert(attempts_column(case), Cell::Int(i64::from(attempts)));
    case.put(row).await
}

fn attempts_column(case: &TestCase) -> String {
    case.subject.column(ColumnRole::Attempts).expect("every contract counts").to_owned()
}

pub(crate) async fn spent_rows_are_not_claimed(case: &TestCase) {
    let tries = Expected::of(&case.subject).tries;
    let worker = case.worker("a").await;
    put_with_attempts(case, 1, tries).await;
    put_with_attempts(case, 2, tries + 3).await;
    let last = put_with_attempts(case, 3, tries - 1).await;
    let claimed = worker.claim(10).await;
    assert_eq!(claimed.len(), 1, "one of three has an attempt left");
    assert!(case.is(&last, &claimed[0].lease.id));
    assert_eq!(claimed[0].counters.attempts, tries - 1);
}

pub(crate) async fn spent_rows_are_swept(case: &TestCase) {
    let tries = Expected::of(&case.subject).tries;
    let worker = case.worker("a").await;
    let spent = put_with_attempts(case, 1, tries).await;
    let live = put_with_attempts(case, 2, tries - 1).await;
    assert_eq!(worker.sweep(SweepKind::Exhausted).await, 1);
    case.assert_state(&spent, case.subject.stage().dead).await;
    case.assert_state(&live, case.subject.ready()).await;
    let row = case.row(&spent).await;
    case.assert_error(&row, NO_ATTEMPTS_LEFT);
    assert_eq!(worker.sweep(SweepKind::Exhausted).await, 0, "a second sweep finds nothing");
}

pub(crate) async fn attempts_exact(case: &TestCase) {
    let expected = Expected::of(&case.subject);
    let worker = case.worker("a").await;
    for (n, transition) in Transition::SETTLES.into_iter().enumerate() {
        let id = put_with_attempts(case, n + 1, 1).await;
        let claimed = worker.claim_one().await;
        assert_eq!(worker.settle_with(&claimed, transition).await, LeaseResult::Held);
        let target = case.subject.stage().target(transition).expect("a settlement leads somewhere");
        let ends = transition == Transition::Delivered || transition.is_failure();
        let fresh = ends && case.subject.begins_another_stage(target);
        let deleted = case.subject.contract.state(target).deletes;
        let wanted = if fresh || deleted { 0 } else { 1 + i64::from(expected.counts(transition)) };
        assert_eq!(case.attempts(&id).await, wanted, "after {transition}");
        case.finish_by_hand(&id).await;
    }
    many_free_ends(case, &worker).await;
}

/// Checks that releasing or deferring a row many times costs nothing.
async fn many_free_ends(case: &TestCase, worker: &Worker) {
    let id = case.put(case.ready_row(50).await).await;
    for transition in [Transition::Released, Transition::Deferred, Transition::Released] {
        let claimed = worker.claim_one().await;
        assert_eq!(worker.settle_with(&claimed, transition).await, LeaseResult::Held);
        case.age(&id, Duration::from_secs(1)).await;
        worker.reclaim().await;
    }
    assert_eq!(case.attempts(&id).await, 0);
}

/// Fails a row until it is dead; returns the number of claims.
async fn fail_until_dead(case: &TestCase, worker: &Worker, id: &Cell) -> u32 {
    for tries in 1..=20 {
        let claimed = worker.claim_one().await;
        let decision = case.decide(&claimed, ResultKind::Retryable);
        let moved = Settlement { delay: decision.delay, ..settlement(&claimed.lease, decision.transition) };
        assert_eq!(worker.settle_one(moved).await, LeaseResult::Held);
        if decision.transition != Transition::Retry {
            assert_eq!(decision.transition, Transition::Dead);
            return tries;
        }
        case.age(id, decision.delay + Duration::from_secs(2)).await;
    }
    panic!("it was never the last failure");
}

pub(crate) async fn last_failure(case: &TestCase) {
    let expected = Expected::of(&case.subject);
    let worker = case.worker("a").await;
    let id = case.put(case.ready_row(1).await).await;
    assert_eq!(fail_until_dead(case, &worker, &id).await, expected.tries);
    let dead = case.subject.stage().dead;
    case.assert_state(&id, dead).await;
    let wanted = if case.subject.begins_another_stage(dead) { 0 } else { expected.spent() };
    assert_eq!(case.attempts(&id).await, i64::from(wanted));
    case.age(&id, Duration::from_hours(24)).await;
    assert!(worker.claim(10).await.is_empty(), "a dead row is never claimed again");
}

pub(crate) async fn backoff(case: &TestCase) {
    let expected = Expected::of(&case.subject);
    let worker = case.worker("a").await;
    let id = case.put(case.ready_row(1).await).await;
    for failure in 1..expected.tries {
        let claimed = worker.claim_one().await;
        let decision = case.decide(&claimed, ResultKind::Retryable);
        let wanted = expected.delay(failure);
        assert_eq!(decision.transition, Transition::Retry);
        assert_eq!(decision.delay, wanted, "after failure {failure}");
        let moved = Settlement { delay: wanted, ..settlement(&claimed.lease, Transition::Retry) };
        assert_eq!(worker.settle_one(moved).await, LeaseResult::Held);
        assert_due_in(case, &id, wanted).await;
        if wanted > Duration::from_secs(20) {
            case.age(&id, wanted.saturating_sub(Duration::from_secs(15))).await;
            assert!(worker.claim(1).await.is_empty(), "15 s too early");
            case.age(&id, Duration::from_secs(17)).await;
        } else {
            case.age(&id, wanted + Duration::from_secs(2)).await;
        }
    }
}

/// Checks the due time: by its column, or by the time from which it is computed.
async fn assert_due_in(case: &TestCase, id: &Cell, wait: Duration) {
    let (row, now) = (case.row(id).await, case.table.now().await);
    let wait = i64::try_from(wait.as_micros()).expect("short");
    if case.subject.has(ColumnRole::Due) {
        let due = case.role(&row, ColumnRole::Due).as_time().expect("a retried row is due some time");
        assert!(
            (due - now - wait).abs() < TOLERANCE,
            "due in {} s, not in {} s",
            (due - now) / SECOND,
            wait / SECOND
        );
    } else {
        let since = case.subject.contract.due.after.expect("a due time is kept or computed");
        let since = case.role(&row, since).as_time().expect("a try was made");
        assert!((since - now).abs() < TOLERANCE, "the last try was now");
    }
}

pub(crate) fn no_own_maximum(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    (!subject.has(ColumnRole::MaxAttempts)).then_some("rows have no maximum of their own")
}

pub(crate) async fn own_maximum(case: &TestCase) {
    let worker = case.worker("a").await;
    let column = case.subject.column(ColumnRole::MaxAttempts).expect("checked").to_owned();
    for (n, (own, attempts, claimable, last)) in [
        (0, 0, true, true),
        (0, 1, false, true),
        (1, 0, true, true),
        (1, 1, false, true),
        (7, 5, true, false),
        (7, 6, true, true),
        (7, 7, false, true),
    ]
    .into_iter()
    .enumerate()
    {
        let mut row = case.ready_row(n + 1).await;
        row.insert(column.clone(), Cell::Int(own));
        row.insert(attempts_column(case), Cell::Int(attempts));
        let id = case.put(row).await;
        let claimed = worker.claim(10).await;
        assert_eq!(claimed.len(), usize::from(claimable), "{attempts} of {own}");
        if let [claimed] = claimed.as_slice() {
            let dead = case.decide(claimed, ResultKind::Retryable).transition == Transition::Dead;
            assert_eq!(dead, last, "is {attempts} + 1 of {own} the last?");
        } else {
            assert_eq!(worker.sweep(SweepKind::Exhausted).await, 1, "{attempts} of {own} is spent");
            case.assert_state(&id, case.subject.stage().dead).await;
        }
    }
}
