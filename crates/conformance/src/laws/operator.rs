//! Laws of operators' commands and views.

use std::time::Duration;

use postrider_contract::{ColumnRole, StateId, Transition};
use postrider_seams::inspect::{Query, SelectedRows};
use postrider_seams::store::LeaseResult;

use crate::cell::Cell;
use crate::expected::Expected;
use crate::subject::Subject;
use crate::test_case::{TestCase, by_id};
use crate::test_table::TestedStore;

pub(crate) fn no_requeue(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    own_requeues(subject).is_empty().then_some("no row that ends here can be requeued")
}

/// Returns the requeues that lead back into this stage.
fn own_requeues(subject: &Subject) -> Vec<(StateId, StateId)> {
    let moves = subject.contract.requeue.iter().flat_map(|requeue| requeue.moves.iter().copied());
    moves.filter(|(_, to)| subject.stage().ready.contains(to)).collect()
}

pub(crate) async fn requeue(case: &TestCase) {
    let worker = case.worker("a").await;
    let moves = own_requeues(&case.subject);
    for (n, (from, to)) in moves.iter().enumerate() {
        let mut row = case.row_in(n + 1, *from).await;
        let spent = [(ColumnRole::Attempts, Cell::Int(9)), (ColumnRole::Error, Cell::text("{}"))];
        for (role, cell) in spent {
            if let Some(column) = case.subject.column(role) {
                row.insert(column.to_owned(), cell);
            }
        }
        let id = case.put(row).await;
        assert_eq!(worker.requeue(&id).await, 1);
        case.assert_state(&id, *to).await;
        let after = case.row(&id).await;
        assert_eq!(case.attempts(&id).await, 0, "a fresh budget");
        if Expected::writes_error(&case.subject) {
            assert!(case.role(&after, ColumnRole::Error).is_null(), "the error is cleared");
        }
        for role in [ColumnRole::Owner, ColumnRole::LeaseUntil, ColumnRole::Finished] {
            assert!(case.role(&after, role).is_null(), "{role} is cleared");
        }
        assert_eq!(worker.requeue(&id).await, 0, "a second requeue moves nothing");
        assert_eq!(case.row(&id).await, after, "a second requeue changes nothing");
        let claimed = worker.claim_one().await;
        assert!(case.is(&id, &claimed.lease.id), "it is claimable at once");
        assert_eq!(worker.requeue(&id).await, 0, "a claimed row is its worker's");
        assert_eq!(worker.settle_with(&claimed, Transition::Delivered).await, LeaseResult::Held);
    }
    all_of_a_state(case, moves[0].0, moves[0].1).await;
    others_stay(case).await;
}

async fn all_of_a_state(case: &TestCase, from: StateId, to: StateId) {
    let worker = case.worker("b").await;
    let mut ids = Vec::new();
    for n in 100..105 {
        ids.push(case.put(case.row_in(n, from).await).await);
    }
    let which =
        |limit| SelectedRows::State { state: case.subject.state_name(from).to_owned(), since: None, limit };
    assert_eq!(worker.store.requeue(&which(2)).await.expect("requeue succeeds"), 2, "at most the limit");
    assert_eq!(worker.store.requeue(&which(100)).await.expect("requeue succeeds"), 3);
    assert_eq!(worker.store.requeue(&which(100)).await.expect("requeue succeeds"), 0);
    for id in &ids {
        case.assert_state(id, to).await;
        case.finish_by_hand(id).await;
    }
}

/// Checks that a requeue leaves rows in other states alone.
async fn others_stay(case: &TestCase) {
    let worker = case.worker("c").await;
    let requeue = case.subject.contract.requeue.clone().expect("checked");
    for StateId(index) in case.subject.states() {
        if requeue.moves.iter().any(|(from, _)| from.0 == index) {
            continue;
        }
        let id = case.put(case.row_in(200 + index, StateId(index)).await).await;
        let before = case.row(&id).await;
        assert_eq!(worker.requeue(&id).await, 0, "{}", case.subject.state_name(StateId(index)));
        assert_eq!(case.row(&id).await, before);
    }
}

pub(crate) fn no_cancel(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    subject.contract.cancel.is_none().then_some("no cancelled state")
}

pub(crate) async fn cancel(case: &TestCase) {
    let worker = case.worker("a").await;
    let moves = case.subject.contract.cancel.clone().expect("checked").moves;
    for (n, (from, to)) in moves.iter().enumerate() {
        let id = case.put(case.row_in(n + 1, *from).await).await;
        assert_eq!(worker.store.cancel(&by_id(&id)).await.expect("cancel succeeds"), 1);
        case.assert_state(&id, *to).await;
        let after = case.row(&id).await;
        assert_eq!(
            worker.store.cancel(&by_id(&id)).await.expect("cancel succeeds"),
            0,
            "it is cancelled already"
        );
        assert_eq!(case.row(&id).await, after);
        assert!(worker.claim(10).await.is_empty(), "a cancelled row is never claimed");
    }
    let (id, claimed) = case.claimed_by(&worker, 50).await;
    assert_eq!(worker.store.cancel(&by_id(&id)).await.expect("cancel succeeds"), 1, "in flight");
    assert_eq!(
        worker.settle_with(&claimed, Transition::Delivered).await,
        LeaseResult::Lost,
        "the cancel wins"
    );
    case.assert_state(&id, moves[0].1).await;
    let finished = case.put(case.row_in(51, case.subject.finished()).await).await;
    assert_eq!(worker.store.cancel(&by_id(&finished)).await.expect("cancel succeeds"), 0, "too late");
    case.assert_state(&finished, case.subject.finished()).await;
    cancel_all_of_a_state(case, moves[0].0).await;
}

async fn cancel_all_of_a_state(case: &TestCase, from: StateId) {
    let worker = case.worker("b").await;
    for n in 60..63 {
        case.put(case.row_in(n, from).await).await;
    }
    let which =
        |limit| SelectedRows::State { state: case.subject.state_name(from).to_owned(), since: None, limit };
    assert_eq!(worker.store.cancel(&which(2)).await.expect("cancel succeeds"), 2, "at most the limit");
    assert_eq!(
        worker.store.cancel(&which(100)).await.expect("cancel succeeds"),
        1,
        "and no row of another state"
    );
}

pub(crate) fn has_cancel(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    subject.contract.cancel.is_some().then_some("there is a cancelled state")
}

pub(crate) async fn no_cancel_without_a_state(case: &TestCase) {
    let worker = case.worker("a").await;
    let id = case.put(case.ready_row(1).await).await;
    let before = case.row(&id).await;
    assert!(worker.store.cancel(&by_id(&id)).await.is_err(), "it says that it can't");
    assert_eq!(case.row(&id).await, before);
}

pub(crate) async fn census_and_pages(case: &TestCase) {
    let worker = case.worker("a").await;
    let ids = case.put_ready(7).await;
    worker.claim(2).await;
    let census = worker.store.count_by_state().await.expect("count_by_state succeeds");
    let rows = |state| {
        census.iter().find(|count| count.state == case.subject.state_name(state)).map(|count| count.rows)
    };
    assert_eq!(rows(case.subject.ready()), Some(5), "{census:?}");
    assert_eq!(rows(case.subject.claimed()), Some(2), "{census:?}");
    let mut query = Query {
        state: Some(case.subject.state_name(case.subject.ready()).to_owned()),
        limit: 2,
        after: None,
        ..Query::default()
    };
    let mut seen = Vec::new();
    for _ in 0..10 {
        let page = worker.store.list(&query).await.expect("list succeeds");
        assert!(page.rows.len() <= 2, "a page has its limit");
        seen.extend(page.rows.into_iter().map(|row| row.id));
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), 5, "every row once: {seen:?}");
    let SelectedRows::Ids(first) = by_id(&ids[0]) else { unreachable!("one row is named by its key") };
    let shown = worker.store.show(&first[0]).await.expect("show succeeds").expect("it is there");
    assert_eq!(shown.id, first[0]);
    assert!(worker.store.show("999999").await.expect("show succeeds").is_none(), "there is no such row");
    let lag = worker.store.lag().await.expect("lag succeeds");
    let claim = lag.oldest_claim_seconds.expect("two are claimed");
    // MySQL rounds a time with whole seconds up or down.
    assert!((-1.0..10.0).contains(&claim), "claimed just now, not {claim} s ago");
    let due = lag.oldest_due_seconds.expect("five are due");
    let most = Duration::from_secs(3700).as_secs_f64();
    assert!((0.0..most).contains(&due), "due for at most an hour, not {due} s");
}
