//! Laws of settling: how a claim ends.

use std::time::Duration;

use postrider_contract::{Defer, REMEMBERED, RESULTS, Role, Transition};
use postrider_seams::store::{Held, Settlement};
use postrider_seams::{Claimed, Lease, Value};

use crate::arena::Kind;
use crate::cell::Cell;
use crate::expected::Expected;
use crate::subject::Subject;
use crate::trial::{TOLERANCE, Trial, patiently, settlement};

pub(crate) async fn delivered(trial: &Trial) {
    let worker = trial.worker("a").await;
    let mut row = trial.ready_row(1).await;
    if let Some(error) = trial.subject.column(Role::Error) {
        row.insert(error.to_owned(), Cell::text("an old failure"));
    }
    let id = trial.put(row).await;
    let claimed = worker.claim_one().await;
    assert_eq!(worker.end(&claimed, Transition::Delivered).await, Held::Held);
    let target = trial.subject.stage().delivered;
    trial.assert_state(&id, target).await;
    let (row, now) = (trial.row(&id).await, trial.arena.now().await);
    let is_now = |role| trial.role(&row, role).as_time().is_some_and(|time| (time - now).abs() < TOLERANCE);
    let error = trial.role(&row, Role::Error).as_text().unwrap_or_default();
    assert_eq!(
        error.contains("an old failure"),
        !Expected::writes_error(&trial.subject),
        "success empties the error"
    );
    for role in [Role::Owner, Role::LeaseUntil] {
        assert!(trial.role(&row, role).is_null(), "{role} is cleared");
    }
    if trial.subject.has(Role::Finished) && !trial.subject.begins_another_stage(target) {
        assert!(is_now(Role::Finished), "it says when");
    }
    if trial.subject.has(Role::Attempted) {
        assert!(is_now(Role::Attempted), "every try says when");
    }
    if trial.subject.has(Role::Receipt) {
        assert_eq!(trial.role(&row, Role::Receipt).as_text(), Some("m-1"));
    }
    if trial.subject.has(Role::Duration) {
        assert_eq!(trial.role(&row, Role::Duration).as_int(), Some(12));
    }
}

pub(crate) async fn failures_keep_their_reason(trial: &Trial) {
    let worker = trial.worker("a").await;
    let failures = [Transition::Retry, Transition::Dead, Transition::Rejected, Transition::Skipped];
    for (n, transition) in failures.into_iter().enumerate() {
        let (id, claimed) = trial.claimed_by(&worker, n + 1).await;
        let moved = Settlement { delay: Duration::from_mins(15), ..settlement(&claimed.lease, transition) };
        assert_eq!(worker.settle_one(moved).await, Held::Held);
        let target = trial.subject.stage().target(transition).expect("a failure leads somewhere");
        trial.assert_state(&id, target).await;
        let row = trial.row(&id).await;
        for role in [Role::Owner, Role::LeaseUntil] {
            assert!(trial.role(&row, role).is_null(), "{role} is cleared by {transition}");
        }
        trial.assert_error(&row, "the relay is busy");
        // A computed due time may be short, so remove the row before the next one.
        trial.expel(&id).await;
    }
}

pub(crate) async fn release_is_free(trial: &Trial) {
    let worker = trial.worker("a").await;
    let mut row = trial.ready_row(1).await;
    if let Some(error) = trial.subject.column(Role::Error) {
        row.insert(error.to_owned(), Cell::text("an old failure"));
    }
    let id = trial.put(row.clone()).await;
    let claimed = worker.claim_one().await;
    assert_eq!(worker.end(&claimed, Transition::Released).await, Held::Held);
    trial.assert_state(&id, trial.subject.untried()).await;
    let after = trial.row(&id).await;
    for role in [Role::Attempts, Role::Error, Role::Finished, Role::Attempted, Role::Receipt] {
        let before = trial.role(&row, role);
        assert_eq!(trial.role(&after, role), before, "a release changes no {role}");
    }
    worker.claim_one().await;
}

pub(crate) async fn deferral_waits(trial: &Trial) {
    if trial.subject.contract.due.defer == Defer::None {
        return;
    }
    let worker = trial.worker("a").await;
    let (id, claimed) = trial.claimed_by(&worker, 1).await;
    let hour = Duration::from_hours(1);
    let moved = Settlement { delay: hour, ..settlement(&claimed.lease, Transition::Deferred) };
    assert_eq!(worker.settle_one(moved).await, Held::Held);
    for (wait, claimable) in
        [(Duration::ZERO, 0), (hour.saturating_sub(Duration::from_mins(1)), 0), (Duration::from_secs(70), 1)]
    {
        trial.age(&id, wait).await;
        worker.reclaim().await;
        assert_eq!(trial.attempts(&id).await, 0, "never tried, so it costs nothing");
        assert_eq!(worker.claim(10).await.len(), claimable, "after {wait:?} more");
    }
}

pub(crate) async fn mixed_batch(trial: &Trial) {
    let worker = trial.worker("a").await;
    let kinds = Transition::SETTLES.len();
    let count = kinds * 6;
    trial.put_ready(count).await;
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
    assert!(answers.iter().all(|held| *held == Held::Held), "{answers:?}");
    let answers = worker.settle(&moves).await;
    assert_eq!(answers.len(), count);
    let rows = trial.rows().await;
    for (n, (answer, settled)) in answers.iter().zip(&moves).enumerate() {
        let wanted = if n % 5 == 0 { Held::Lost } else { Held::Held };
        assert_eq!(*answer, wanted, "{} at place {n}", settled.transition);
        let table = &trial.subject.contract.table;
        let row = rows.iter().find(|row| trial.is(&row[&table.id], &settled.lease.id)).expect("it is there");
        let found = crate::row::state_of(&trial.subject, row);
        let by_lock =
            settled.transition == Transition::Deferred && trial.subject.contract.due.defer == Defer::Lease;
        let target = match settled.transition {
            _ if by_lock => Some(trial.subject.claimed()),
            Transition::Deferred | Transition::Released => Some(trial.subject.untried()),
            transition => trial.subject.stage().target(transition),
        };
        assert_eq!(found, target, "{} at place {n}", settled.transition);
    }
}

pub(crate) fn no_mail(subject: &Subject, _: Kind) -> Option<&'static str> {
    (!subject.stage().sends_mail()).then_some("it sends no mail")
}

/// Returns a settlement with a result for each recipient.
fn partly(lease: &Lease, second: &str) -> Settlement {
    let results = format!(
        r#"[{{"address":"a@x.test","result":"accepted"}},{{"address":"b@x.test","result":"{second}","reply":"it's \"busy\""}}]"#
    );
    let mut partly = settlement(lease, Transition::Retry);
    for name in ["recipients", REMEMBERED] {
        partly.outcome.insert(name.to_owned(), Value::Text(results.clone()));
    }
    partly
}

pub(crate) async fn recipients_are_remembered(trial: &Trial) {
    let worker = trial.worker("a").await;
    let mut row = trial.ready_row(1).await;
    // The memory store's table has this column as a required one.
    let columns = trial.subject.contract.message_columns();
    if let Some((_, column)) =
        columns.iter().find(|(field, column)| field == RESULTS && row.contains_key(column))
    {
        row.insert(column.clone(), Cell::Null);
    }
    trial.put(row).await;
    let first = worker.claim_one().await;
    let remembered = |claimed: &Claimed| {
        let fields = claimed.fields.as_ref().expect("it is small");
        fields
            .get(RESULTS)
            .as_text()
            .map(|text| serde_json::from_str::<serde_json::Value>(text).expect("JSON"))
    };
    assert_eq!(remembered(&first), None);
    assert_eq!(worker.settle_one(partly(&first.lease, "deferred")).await, Held::Held);
    let second = worker.claim_one().await;
    let results = remembered(&second).expect("it comes with the claim");
    assert_eq!(results[1]["result"], "deferred", "{results}");
    assert_eq!(results[1]["reply"], "it's \"busy\"");
    let loaded = patiently(|| worker.store.load(std::slice::from_ref(&second.lease))).await;
    assert_ne!(loaded[0].as_ref().expect("it is there").get(RESULTS), &Value::Null, "a load has it too");
    assert_eq!(worker.settle_one(partly(&first.lease, "accepted")).await, Held::Lost);
    let plain = settlement(&second.lease, Transition::Retry);
    assert_eq!(worker.settle_one(plain).await, Held::Held);
    let third = worker.claim_one().await;
    assert_eq!(remembered(&third), Some(results), "what says nothing of recipients forgets none");
    assert_eq!(worker.settle_one(partly(&third.lease, "refused")).await, Held::Held);
    let last = worker.claim_one().await;
    assert_eq!(remembered(&last).expect("remembered")[1]["result"], "refused");
}
