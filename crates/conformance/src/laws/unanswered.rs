//! Laws of claims whose answer was lost.

use postrider_contract::{Role, Transition};
use postrider_seams::store::Held;
use postrider_seams::{Claimed, Lease, RowId};

use crate::arena::Kind;
use crate::subject::Subject;
use crate::trial::{Trial, Worker, patiently};

pub(crate) fn no_owner(subject: &Subject, _: Kind) -> Option<&'static str> {
    (!subject.has(Role::Owner)).then_some("the table does not say who claimed a row")
}

async fn release_unheld(worker: &Worker, held: &[Lease]) -> u64 {
    patiently(|| worker.store.release_unheld(held)).await
}

fn leases(rows: &[Claimed]) -> Vec<Lease> {
    rows.iter().map(|row| row.lease.clone()).collect()
}

pub(crate) async fn lost_claims_are_released(trial: &Trial) {
    let (worker, other) = (trial.worker("a").await, trial.worker("b").await);
    let ids = trial.put_ready(6).await;
    let mut before = Vec::new();
    for id in &ids {
        before.push(trial.row(id).await);
    }
    let held = worker.claim(2).await;
    let others = other.claim(2).await;
    let lost = worker.claim(10).await;
    assert_eq!((held.len(), others.len(), lost.len()), (2, 2, 2));
    let claimed = trial.rows().await;
    assert_eq!(release_unheld(&worker, &leases(&[held.clone(), lost.clone()].concat())).await, 0);
    assert_eq!(trial.rows().await, claimed, "what is held is not touched");
    assert_eq!(release_unheld(&worker, &leases(&held)).await, 2, "the others were lost");
    for (id, before) in ids.iter().zip(&before) {
        let after = trial.row(id).await;
        if lost.iter().any(|row| trial.is(id, &row.lease.id)) {
            trial.assert_state(id, trial.subject.untried()).await;
            for role in [Role::Attempts, Role::Error, Role::Due, Role::Attempted, Role::Finished] {
                assert_eq!(
                    trial.role(&after, role),
                    trial.role(before, role),
                    "a lost claim changes no {role}"
                );
            }
            assert!(trial.role(&after, Role::Owner).is_null(), "nobody has it");
        } else {
            assert!(claimed.contains(&after), "rows that somebody holds are as they were");
        }
    }
    assert_eq!(release_unheld(&worker, &leases(&held)).await, 0, "a second one finds nothing");
    for row in &held {
        assert_eq!(worker.end(row, Transition::Delivered).await, Held::Held, "their leases hold");
    }
    for row in &others {
        assert_eq!(other.end(row, Transition::Delivered).await, Held::Held, "their leases hold");
    }
    assert_eq!(again(&worker, &lost).await, 2, "they can be claimed at once");
    assert_eq!(release_unheld(&worker, &[]).await, 2, "and lost once more");
    assert_eq!(again(&worker, &lost).await, 2);
}

/// Claims these rows again: by key if the lane has a queue.
async fn again(worker: &Worker, lost: &[Claimed]) -> usize {
    let Some(handoff) = worker.store.handoff() else { return worker.claim(10).await.len() };
    let ids: Vec<RowId> = lost.iter().map(|row| row.lease.id.clone()).collect();
    patiently(|| handoff.claim_named(&ids)).await.rows.len()
}
