//! Laws of effects: rows that transitions insert into other tables.

use std::time::Duration;

use postrider_contract::{Effect, Expr, Transition};
use postrider_seams::store::{LeaseResult, Settlement};

use crate::cell::{Cell, Row};
use crate::subject::Subject;
use crate::test_case::{TestCase, settlement};
use crate::test_table::TestedStore;

pub(crate) fn no_effects(subject: &Subject, kind: TestedStore) -> Option<&'static str> {
    if kind == TestedStore::DynamoDb {
        return Some("its history is a record for each state, with separate tests");
    }
    subject.contract.effects.is_empty().then_some("no effects")
}

/// Returns how many rows this transition inserts for one row.
fn expected_inserts(case: &TestCase, transition: Transition) -> usize {
    case.subject.contract.effects.iter().filter(|effect| effect.on.contains(&transition)).count()
}

/// Returns the column of the effect's table that identifies the row, and its value.
fn row_reference(case: &TestCase, effect: &Effect, row: &Row) -> Option<(String, Cell)> {
    effect.values.iter().find_map(|(column, value)| match value {
        Expr::Id => Some((column.clone(), row[&case.subject.contract.table.id].clone())),
        Expr::Row { column: from, .. } => Some((column.clone(), row.get(from)?.clone())),
        _ => None,
    })
}

/// Returns the inserted rows for this row, over all tables of effects.
async fn inserted_rows(case: &TestCase, row: &Row) -> Vec<Row> {
    let mut found = Vec::new();
    let mut seen = Vec::new();
    for effect in &case.subject.contract.effects {
        let (column, value) = row_reference(case, effect, row).expect("an effect says which row it is about");
        if !seen.contains(&effect.table) {
            seen.push(effect.table.clone());
            found.extend(case.table.select(&effect.table, Some((&column, &value))).await);
        }
    }
    found
}

pub(crate) async fn effects_with_the_move(case: &TestCase) {
    let worker = case.worker("a").await;
    for (n, transition) in Transition::SETTLES.into_iter().enumerate() {
        let (id, claimed) = case.claimed_by(&worker, n + 1).await;
        let row = case.row(&id).await;
        let by_claim = inserted_rows(case, &row).await;
        assert_eq!(by_claim.len(), expected_inserts(case, Transition::Claimed), "by the claim");
        let moved = Settlement { delay: Duration::from_mins(15), ..settlement(&claimed.lease, transition) };
        assert_eq!(worker.settle_one(moved).await, LeaseResult::Held);
        let all = inserted_rows(case, &row).await;
        assert_eq!(all.len() - by_claim.len(), expected_inserts(case, transition), "by {transition}");
        for inserted in all.iter().filter(|inserted| !by_claim.contains(inserted)) {
            assert_values(case, transition, &case.row(&id).await, inserted);
        }
        case.finish_by_hand(&id).await;
    }
    by_recovery(case).await;
}

/// Checks the values that the specification requires in the history.
fn assert_values(case: &TestCase, transition: Transition, after: &Row, inserted: &Row) {
    let status = case.role(after, postrider_contract::ColumnRole::Status);
    let attempts = case.role(after, postrider_contract::ColumnRole::Attempts);
    for effect in case.subject.contract.effects.iter().filter(|effect| effect.on.contains(&transition)) {
        for (column, value) in &effect.values {
            let found = inserted.get(column).unwrap_or(&Cell::Null);
            match value {
                Expr::State => assert_eq!(found, status, "{column} contains the state reached"),
                Expr::Attempts => assert_eq!(found, attempts, "{column} contains the attempt"),
                Expr::Reason { .. } if transition.is_failure() => {
                    assert_eq!(found.as_text(), Some("the relay is busy"), "{column} contains the error");
                }
                Expr::Now | Expr::ClaimedAt => assert!(!found.is_null(), "{column} contains a time"),
                _ => {}
            }
        }
    }
}

async fn by_recovery(case: &TestCase) {
    let worker = case.worker("b").await;
    for (n, transition) in [(40, Transition::Reclaimed), (41, Transition::Released)] {
        let (id, claimed) = case.claimed_by(&worker, n).await;
        let row = case.row(&id).await;
        let before = inserted_rows(case, &row).await.len();
        if transition == Transition::Reclaimed {
            case.crash(&worker, &id, &claimed).await;
        } else {
            case.expire(&id).await;
        }
        worker.reclaim().await;
        let inserted = inserted_rows(case, &row).await.len() - before;
        assert_eq!(inserted, expected_inserts(case, transition), "by the reclaim: {transition}");
        case.finish_by_hand(&id).await;
    }
}

pub(crate) async fn no_effect_without_the_fence(case: &TestCase) {
    let (slow, quick) = (case.worker("slow").await, case.worker("quick").await);
    let (id, old) = case.claimed_by(&slow, 1).await;
    case.expire(&id).await;
    quick.reclaim().await;
    let new = quick.claim_one().await;
    let row = case.row(&id).await;
    let before = inserted_rows(case, &row).await.len();
    for transition in Transition::SETTLES {
        assert_eq!(slow.settle_with(&old, transition).await, LeaseResult::Lost);
        assert_eq!(inserted_rows(case, &row).await.len(), before, "a refused {transition} had an effect");
    }
    assert_eq!(quick.settle_with(&new, Transition::Delivered).await, LeaseResult::Held);
    let after = inserted_rows(case, &row).await.len();
    assert_eq!(quick.settle_with(&new, Transition::Delivered).await, LeaseResult::Lost);
    assert_eq!(inserted_rows(case, &row).await.len(), after, "a repeated settlement had an effect");
}
