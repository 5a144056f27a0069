//! Laws of counting: what costs an attempt, which failure is the last, how long a retry waits.

use std::time::Duration;

use postrider_contract::{ATTEMPTS_SPENT, Got, Role, Transition};
use postrider_seams::store::{Held, Settlement, SweepKind};

use crate::arena::Kind;
use crate::cell::Cell;
use crate::expected::Expected;
use crate::row::SECOND;
use crate::subject::Subject;
use crate::trial::{TOLERANCE, Trial, Worker, settlement};

async fn put_with_attempts(trial: &Trial, n: usize, attempts: u32) -> Cell {
    let mut row = trial.ready_row(n).await;
    row.insert(attempts_column(trial), Cell::Int(i64::from(attempts)));
    trial.put(row).await
}

fn attempts_column(trial: &Trial) -> String {
    trial.subject.column(Role::Attempts).expect("every contract counts").to_owned()
}

pub(crate) async fn spent_rows_are_not_claimed(trial: &Trial) {
    let tries = Expected::of(&trial.subject).tries;
    let worker = trial.worker("a").await;
    put_with_attempts(trial, 1, tries).await;
    put_with_attempts(trial, 2, tries + 3).await;
    let last = put_with_attempts(trial, 3, tries - 1).await;
    let claimed = worker.claim(10).await;
    assert_eq!(claimed.len(), 1, "one of three has an attempt left");
    assert!(trial.is(&last, &claimed[0].lease.id));
    assert_eq!(claimed[0].counters.attempts, tries - 1);
}

pub(crate) async fn spent_rows_are_swept(trial: &Trial) {
    let tries = Expected::of(&trial.subject).tries;
    let worker = trial.worker("a").await;
    let spent = put_with_attempts(trial, 1, tries).await;
    let live = put_with_attempts(trial, 2, tries - 1).await;
    assert_eq!(worker.sweep(SweepKind::Spent).await, 1);
    trial.assert_state(&spent, trial.subject.stage().dead).await;
    trial.assert_state(&live, trial.subject.ready()).await;
    let row = trial.row(&spent).await;
    trial.assert_error(&row, ATTEMPTS_SPENT);
    assert_eq!(worker.sweep(SweepKind::Spent).await, 0, "a second sweep finds nothing");
}

pub(crate) async fn attempts_exact(trial: &Trial) {
    let expected = Expected::of(&trial.subject);
    let worker = trial.worker("a").await;
    for (n, transition) in Transition::SETTLES.into_iter().enumerate() {
        let id = put_with_attempts(trial, n + 1, 1).await;
        let claimed = worker.claim_one().await;
        assert_eq!(worker.end(&claimed, transition).await, Held::Held);
        let target = trial.subject.stage().target(transition).expect("a settlement leads somewhere");
        let ends = transition == Transition::Delivered || transition.is_failure();
        let fresh = ends && trial.subject.begins_another_stage(target);
        let wanted = if fresh { 0 } else { 1 + i64::from(expected.counts(transition)) };
        assert_eq!(trial.attempts(&id).await, wanted, "after {transition}");
        trial.expel(&id).await;
    }
    many_free_ends(trial, &worker).await;
}

/// Checks that releasing or deferring a row many times costs nothing.
async fn many_free_ends(trial: &Trial, worker: &Worker) {
    let id = trial.put(trial.ready_row(50).await).await;
    for transition in [Transition::Released, Transition::Deferred, Transition::Released] {
        let claimed = worker.claim_one().await;
        assert_eq!(worker.end(&claimed, transition).await, Held::Held);
        trial.age(&id, Duration::from_secs(1)).await;
        worker.reclaim().await;
    }
    assert_eq!(trial.attempts(&id).await, 0);
}

/// Fails a row until it is dead; returns the number of claims.
async fn fail_until_dead(trial: &Trial, worker: &Worker, id: &Cell) -> u32 {
    for tries in 1..=20 {
        let claimed = worker.claim_one().await;
        let decision = trial.decide(&claimed, Got::Retryable);
        let moved = Settlement { delay: decision.delay, ..settlement(&claimed.lease, decision.transition) };
        assert_eq!(worker.settle_one(moved).await, Held::Held);
        if decision.transition != Transition::Retry {
            assert_eq!(decision.transition, Transition::Dead);
            return tries;
        }
        trial.age(id, decision.delay + Duration::from_secs(2)).await;
    }
    panic!("it was never the last failure");
}

pub(crate) async fn last_failure(trial: &Trial) {
    let expected = Expected::of(&trial.subject);
    let worker = trial.worker("a").await;
    let id = trial.put(trial.ready_row(1).await).await;
    assert_eq!(fail_until_dead(trial, &worker, &id).await, expected.tries);
    let dead = trial.subject.stage().dead;
    trial.assert_state(&id, dead).await;
    let wanted = if trial.subject.begins_another_stage(dead) { 0 } else { expected.spent() };
    assert_eq!(trial.attempts(&id).await, i64::from(wanted));
    trial.age(&id, Duration::from_hours(24)).await;
    assert!(worker.claim(10).await.is_empty(), "a dead row is never claimed again");
}

pub(crate) async fn backoff(trial: &Trial) {
    let expected = Expected::of(&trial.subject);
    let worker = trial.worker("a").await;
    let id = trial.put(trial.ready_row(1).await).await;
    for failure in 1..expected.tries {
        let claimed = worker.claim_one().await;
        let decision = trial.decide(&claimed, Got::Retryable);
        let wanted = expected.delay(failure);
        assert_eq!(decision.transition, Transition::Retry);
        assert_eq!(decision.delay, wanted, "after failure {failure}");
        let moved = Settlement { delay: wanted, ..settlement(&claimed.lease, Transition::Retry) };
        assert_eq!(worker.settle_one(moved).await, Held::Held);
        assert_due_in(trial, &id, wanted).await;
        if wanted > Duration::from_secs(20) {
            trial.age(&id, wanted.saturating_sub(Duration::from_secs(15))).await;
            assert!(worker.claim(1).await.is_empty(), "15 s too early");
            trial.age(&id, Duration::from_secs(17)).await;
        } else {
            trial.age(&id, wanted + Duration::from_secs(2)).await;
        }
    }
}

/// Checks the due time: by its column, or by the time from which it is computed.
async fn assert_due_in(trial: &Trial, id: &Cell, wait: Duration) {
    let (row, now) = (trial.row(id).await, trial.arena.now().await);
    let wait = i64::try_from(wait.as_micros()).expect("short");
    if trial.subject.has(Role::Due) {
        let due = trial.role(&row, Role::Due).as_time().expect("a retried row is due some time");
        assert!(
            (due - now - wait).abs() < TOLERANCE,
            "due in {} s, not in {} s",
            (due - now) / SECOND,
            wait / SECOND
        );
    } else {
        let since = trial.subject.contract.due.after.expect("a due time is kept or computed");
        let since = trial.role(&row, since).as_time().expect("a try was made");
        assert!((since - now).abs() < TOLERANCE, "the last try was now");
    }
}

pub(crate) fn no_own_maximum(subject: &Subject, _: Kind) -> Option<&'static str> {
    (!subject.has(Role::MaxAttempts)).then_some("rows have no maximum of their own")
}

pub(crate) async fn own_maximum(trial: &Trial) {
    let worker = trial.worker("a").await;
    let column = trial.subject.column(Role::MaxAttempts).expect("checked").to_owned();
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
        let mut row = trial.ready_row(n + 1).await;
        row.insert(column.clone(), Cell::Int(own));
        row.insert(attempts_column(trial), Cell::Int(attempts));
        let id = trial.put(row).await;
        let claimed = worker.claim(10).await;
        assert_eq!(claimed.len(), usize::from(claimable), "{attempts} of {own}");
        if let [claimed] = claimed.as_slice() {
            let dead = trial.decide(claimed, Got::Retryable).transition == Transition::Dead;
            assert_eq!(dead, last, "is {attempts} + 1 of {own} the last?");
        } else {
            assert_eq!(worker.sweep(SweepKind::Spent).await, 1, "{attempts} of {own} is spent");
            trial.assert_state(&id, trial.subject.stage().dead).await;
        }
    }
}
