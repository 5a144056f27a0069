//! Laws of claims whose answer was lost.

use postrider_contract::{ColumnRole, Transition};
use postrider_seams::store::LeaseResult;
use postrider_seams::{ClaimedRow, Lease, RowId};

use crate::subject::Subject;
use crate::test_case::{TestCase, Worker, retry_transient};
use crate::test_table::TestedStore;

pub(crate) fn no_owner(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    (!subject.has(ColumnRole::Owner)).then_some("the table does not record which worker claimed a row")
}

async fn release_lost_claims(worker: &Worker, held: &[Lease]) -> u64 {
    retry_transient(|| worker.store.release_lost_claims(held)).await
}

fn leases(rows: &[ClaimedRow]) -> Vec<Lease> {
    rows.iter().map(|row| row.lease.clone()).collect()
}

pub(crate) async fn lost_claims_are_released(case: &TestCase) {
    let (worker, other) = (case.worker("a").await, case.worker("b").await);
    let ids = case.put_ready(6).await;
    let mut before = Vec::new();
    for id in &ids {
        before.push(case.row(id).await);
    }
    let held = worker.claim(2).await;
    let others = other.claim(2).await;
    let lost = worker.claim(10).await;
    assert_eq!((held.len(), others.len(), lost.len()), (2, 2, 2));
    let claimed = case.rows().await;
    assert_eq!(release_lost_claims(&worker, &leases(&[held.clone(), lost.clone()].concat())).await, 0);
    assert_eq!(case.rows().await, claimed, "what is held is not touched");
    assert_eq!(release_lost_claims(&worker, &leases(&held)).await, 2, "the others were lost");
    for (id, before) in ids.iter().zip(&before) {
        let after = case.row(id).await;
        if lost.iter().any(|row| case.is(id, &row.lease.id)) {
            case.assert_state(id, case.subject.untried()).await;
            for role in [
                ColumnRole::Attempts,
                ColumnRole::Error,
                ColumnRole::Due,
                ColumnRole::Attempted,
                ColumnRole::Finished,
            ] {
                assert_eq!(
                    case.role(&after, role),
                    case.role(before, role),
                    "a lost claim changes no {role}"
                );
            }
            assert!(case.role(&after, ColumnRole::Owner).is_null(), "nobody has it");
        } else {
            assert!(claimed.contains(&after), "rows that somebody holds are as they were");
        }
    }
    assert_eq!(release_lost_claims(&worker, &leases(&held)).await, 0, "a second one finds nothing");
    for row in &held {
        assert_eq!(
            worker.settle_with(row, Transition::Delivered).await,
            LeaseResult::Held,
            "their leases hold"
        );
    }
    for row in &others {
        assert_eq!(
            other.settle_with(row, Transition::Delivered).await,
            LeaseResult::Held,
            "their leases hold"
        );
    }
    assert_eq!(again(&worker, &lost).await, 2, "they can be claimed at once");
    assert_eq!(release_lost_claims(&worker, &[]).await, 2, "and lost once more");
    assert_eq!(again(&worker, &lost).await, 2);
}

/// Claims these rows again: by key if the lane has a queue.
async fn again(worker: &Worker, lost: &[ClaimedRow]) -> usize {
    let Some(handoff) = worker.store.handoff() else { return worker.claim(10).await.len() };
    let ids: Vec<RowId> = lost.iter().map(|row| row.lease.id.clone()).collect();
    retry_transient(|| handoff.claim_by_id(&ids)).await.rows.len()
}
