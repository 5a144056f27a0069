//! Laws of the fence: a worker that lost its lease cannot write.

use postrider_contract::{ColumnRole, Transition};
use postrider_seams::store::LeaseResult;
use postrider_seams::{ClaimedRow, Lease};

use crate::cell::Cell;
use crate::row::SECOND;
use crate::subject::Subject;
use crate::test_case::{TestCase, Worker, settlement};
use crate::test_table::TestedStore;

/// Asserts that every call with this lease is rejected and changes nothing.
async fn assert_void(case: &TestCase, worker: &Worker, id: &Cell, lease: &Lease, why: &str) {
    let before = case.row(id).await;
    for transition in Transition::SETTLES {
        let answer = worker.settle_one(settlement(lease, transition)).await;
        assert_eq!(answer, LeaseResult::Lost, "{transition} {why}");
        assert_eq!(case.row(id).await, before, "{transition} {why} changed the row");
    }
    assert_eq!(worker.extend(lease).await, None, "extend {why}");
    assert_eq!(case.row(id).await, before, "extend {why} changed the row");
}

pub(crate) async fn stale_after_reclaim(case: &TestCase) {
    let (slow, quick) = (case.worker("slow").await, case.worker("quick").await);
    let (id, old) = case.claimed_by(&slow, 1).await;
    case.expire(&id).await;
    assert_eq!(quick.reclaim().await.free, 1);
    assert_void(case, &slow, &id, &old.lease, "after a reclaim").await;
    let new = quick.claim_one().await;
    assert_void(case, &slow, &id, &old.lease, "after another's claim").await;
    assert_eq!(
        quick.settle_with(&new, Transition::Delivered).await,
        LeaseResult::Held,
        "the holder can settle"
    );
    case.assert_state(&id, case.subject.stage().delivered).await;
    assert_void(case, &slow, &id, &old.lease, "after another's settle").await;
}

pub(crate) async fn stale_within_a_tick(case: &TestCase) {
    let (first, second) = (case.worker("first").await, case.worker("second").await);
    let (id, mut old) = case.claimed_by(&first, 1).await;
    // An owner in the fence distinguishes workers, and no worker holds a row twice; a time alone distinguishes claims.
    let by_owner = case.subject.stage().lease.fence.contains(&ColumnRole::Owner);
    for turn in 0..6 {
        let other = if by_owner { turn % 2 == 0 } else { turn % 4 > 1 };
        let worker = if other { &second } else { &first };
        // Any worker may use a lease: the fence gives the right to settle, not the connection.
        assert_eq!(worker.settle_with(&old, Transition::Released).await, LeaseResult::Held);
        let new: ClaimedRow = worker.claim_one().await;
        assert_ne!(new.lease.fence, old.lease.fence, "each claim has a fence of its own");
        assert_void(case, &first, &id, &old.lease, "of the claim before").await;
        old = new;
    }
}

pub(crate) async fn every_part_of_the_fence_counts(case: &TestCase) {
    let worker = case.worker("a").await;
    let (id, claimed) = case.claimed_by(&worker, 1).await;
    let claimed_row = case.row(&id).await;
    for role in case.subject.stage().lease.fence.clone() {
        let column = case.subject.column(role).expect("a fence is made of columns");
        let other = match &claimed_row[column] {
            Cell::Int(int) => Cell::Int(int + 1),
            Cell::Time(time) => Cell::Time(time + SECOND),
            other => Cell::text(format!("{other:?}")),
        };
        case.set(&id, column, other).await;
        assert_void(case, &worker, &id, &claimed.lease, &format!("of another {role}")).await;
        case.set(&id, column, claimed_row[column].clone()).await;
    }
    assert_eq!(worker.settle_with(&claimed, Transition::Delivered).await, LeaseResult::Held, "all as it was");
}

pub(crate) fn claim_time_cleared(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    let claimed_at = subject.column(ColumnRole::ClaimedAt);
    let conditions = &subject.contract.state(subject.ready()).conditions;
    let forgets = conditions.iter().any(|(column, _)| Some(column.as_str()) == claimed_at);
    (forgets || claimed_at.is_none())
        .then_some("a ready row has no claim time; the owner distinguishes claims")
}

pub(crate) async fn claim_time_increases(case: &TestCase) {
    let worker = case.worker("a").await;
    let column = case.subject.column(ColumnRole::ClaimedAt).expect("checked").to_owned();
    let before = case.table.now().await + 40 * SECOND;
    let mut row = case.ready_row(1).await;
    row.insert(column.clone(), Cell::Time(before));
    let id = case.put(row).await;
    let before = case.row(&id).await[&column].as_time().expect("it was claimed once");
    let claimed = worker.claim_one().await;
    let after = case.row(&id).await[&column].as_time().expect("it is claimed");
    assert!(after > before, "{after} is not later than {before}");
    assert_eq!(
        worker.settle_with(&claimed, Transition::Delivered).await,
        LeaseResult::Held,
        "its fence is what it wrote"
    );
}

pub(crate) async fn repeated_settlement_is_lost(case: &TestCase) {
    let worker = case.worker("a").await;
    for (n, transition) in Transition::SETTLES.into_iter().enumerate() {
        let (id, claimed) = case.claimed_by(&worker, n + 1).await;
        assert_eq!(worker.settle_with(&claimed, transition).await, LeaseResult::Held);
        assert_void(case, &worker, &id, &claimed.lease, "once it is settled").await;
        case.finish_by_hand(&id).await;
    }
}

pub(crate) async fn unfenced_state_is_refused(case: &TestCase) {
    let worker = case.worker("a").await;
    let (id, claimed) = case.claimed_by(&worker, 1).await;
    for state in [case.subject.finished(), case.subject.stage().dead] {
        case.move_by_hand(&id, state).await;
        assert_void(case, &worker, &id, &claimed.lease, "of a row that was moved by hand").await;
    }
}
