//! Laws of effects: rows that transitions insert into other tables.

use std::time::Duration;

use postrider_contract::{Effect, Expr, Transition};
use postrider_seams::store::{Held, Settlement};

use crate::arena::Kind;
use crate::cell::{Cell, Row};
use crate::subject::Subject;
use crate::trial::{Trial, settlement};

pub(crate) fn no_effects(subject: &Subject, kind: Kind) -> Option<&'static str> {
    if kind == Kind::DynamoDb {
        return Some("there the history is a record for each state, and has tests of its own");
    }
    subject.contract.effects.is_empty().then_some("no effects")
}

/// Returns how many rows this transition inserts for one row.
fn wanted(trial: &Trial, transition: Transition) -> usize {
    trial.subject.contract.effects.iter().filter(|effect| effect.on.contains(&transition)).count()
}

/// Returns the column of the effect's table that identifies the row, and its value.
fn link(trial: &Trial, effect: &Effect, row: &Row) -> Option<(String, Cell)> {
    effect.values.iter().find_map(|(column, value)| match value {
        Expr::Id => Some((column.clone(), row[&trial.subject.contract.table.id].clone())),
        Expr::Row { column: from, .. } => Some((column.clone(), row.get(from)?.clone())),
        _ => None,
    })
}

/// Returns the inserted rows for this row, over all tables of effects.
async fn about(trial: &Trial, row: &Row) -> Vec<Row> {
    let mut found = Vec::new();
    let mut seen = Vec::new();
    for effect in &trial.subject.contract.effects {
        let (column, value) = link(trial, effect, row).expect("an effect says which row it is about");
        if !seen.contains(&effect.table) {
            seen.push(effect.table.clone());
            found.extend(trial.arena.select(&effect.table, Some((&column, &value))).await);
        }
    }
    found
}

pub(crate) async fn effects_with_the_move(trial: &Trial) {
    let worker = trial.worker("a").await;
    for (n, transition) in Transition::SETTLES.into_iter().enumerate() {
        let (id, claimed) = trial.claimed_by(&worker, n + 1).await;
        let row = trial.row(&id).await;
        let by_claim = about(trial, &row).await;
        assert_eq!(by_claim.len(), wanted(trial, Transition::Claimed), "by the claim");
        let moved = Settlement { delay: Duration::from_mins(15), ..settlement(&claimed.lease, transition) };
        assert_eq!(worker.settle_one(moved).await, Held::Held);
        let all = about(trial, &row).await;
        assert_eq!(all.len() - by_claim.len(), wanted(trial, transition), "by {transition}");
        for inserted in all.iter().filter(|inserted| !by_claim.contains(inserted)) {
            assert_values(trial, transition, &trial.row(&id).await, inserted);
        }
        trial.expel(&id).await;
    }
    by_recovery(trial).await;
}

/// Checks the values that the specification requires in the history.
fn assert_values(trial: &Trial, transition: Transition, after: &Row, inserted: &Row) {
    let status = trial.role(after, postrider_contract::Role::Status);
    let attempts = trial.role(after, postrider_contract::Role::Attempts);
    for effect in trial.subject.contract.effects.iter().filter(|effect| effect.on.contains(&transition)) {
        for (column, value) in &effect.values {
            let found = inserted.get(column).unwrap_or(&Cell::Null);
            match value {
                Expr::State => assert_eq!(found, status, "{column} tells the state reached"),
                Expr::Attempts => assert_eq!(found, attempts, "{column} tells the attempt"),
                Expr::Reason { .. } if transition.is_failure() => {
                    assert_eq!(found.as_text(), Some("the relay is busy"), "{column} tells why");
                }
                Expr::Now | Expr::ClaimedAt => assert!(!found.is_null(), "{column} tells when"),
                _ => {}
            }
        }
    }
}

async fn by_recovery(trial: &Trial) {
    let worker = trial.worker("b").await;
    for (n, transition) in [(40, Transition::Reclaimed), (41, Transition::Released)] {
        let (id, claimed) = trial.claimed_by(&worker, n).await;
        let row = trial.row(&id).await;
        let before = about(trial, &row).await.len();
        if transition == Transition::Reclaimed {
            trial.crash(&worker, &id, &claimed).await;
        } else {
            trial.expire(&id).await;
        }
        worker.reclaim().await;
        let made = about(trial, &row).await.len() - before;
        assert_eq!(made, wanted(trial, transition), "by the reclaim: {transition}");
        trial.expel(&id).await;
    }
}

pub(crate) async fn no_effect_without_the_fence(trial: &Trial) {
    let (slow, quick) = (trial.worker("slow").await, trial.worker("quick").await);
    let (id, old) = trial.claimed_by(&slow, 1).await;
    trial.expire(&id).await;
    quick.reclaim().await;
    let new = quick.claim_one().await;
    let row = trial.row(&id).await;
    let before = about(trial, &row).await.len();
    for transition in Transition::SETTLES {
        assert_eq!(slow.end(&old, transition).await, Held::Lost);
        assert_eq!(about(trial, &row).await.len(), before, "a refused {transition} had an effect");
    }
    assert_eq!(quick.end(&new, Transition::Delivered).await, Held::Held);
    let after = about(trial, &row).await.len();
    assert_eq!(quick.end(&new, Transition::Delivered).await, Held::Lost);
    assert_eq!(about(trial, &row).await.len(), after, "a repeated settlement had an effect");
}
