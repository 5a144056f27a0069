//! Laws of operators' commands and views.

use std::time::Duration;

use postrider_contract::{Role, StateId, Transition};
use postrider_seams::inspect::{Query, Which};
use postrider_seams::store::Held;

use crate::arena::Kind;
use crate::cell::Cell;
use crate::expected::Expected;
use crate::subject::Subject;
use crate::trial::{Trial, one};

pub(crate) fn no_requeue(subject: &Subject, _: Kind) -> Option<&'static str> {
    own_requeues(subject).is_empty().then_some("nothing ends here that can be requeued")
}

/// Returns the requeues that lead back into this stage.
fn own_requeues(subject: &Subject) -> Vec<(StateId, StateId)> {
    let moves = subject.contract.requeue.iter().flat_map(|requeue| requeue.moves.iter().copied());
    moves.filter(|(_, to)| subject.stage().ready.contains(to)).collect()
}

pub(crate) async fn requeue(trial: &Trial) {
    let worker = trial.worker("a").await;
    let moves = own_requeues(&trial.subject);
    for (n, (from, to)) in moves.iter().enumerate() {
        let mut row = trial.row_in(n + 1, *from).await;
        let spent = [(Role::Attempts, Cell::Int(9)), (Role::Error, Cell::text("{}"))];
        for (role, cell) in spent {
            if let Some(column) = trial.subject.column(role) {
                row.insert(column.to_owned(), cell);
            }
        }
        let id = trial.put(row).await;
        assert_eq!(worker.requeue(&id).await, 1);
        trial.assert_state(&id, *to).await;
        let after = trial.row(&id).await;
        assert_eq!(trial.attempts(&id).await, 0, "a fresh budget");
        if Expected::writes_error(&trial.subject) {
            assert!(trial.role(&after, Role::Error).is_null(), "the error is cleared");
        }
        for role in [Role::Owner, Role::LeaseUntil, Role::Finished] {
            assert!(trial.role(&after, role).is_null(), "{role} is cleared");
        }
        assert_eq!(worker.requeue(&id).await, 0, "a second requeue moves nothing");
        assert_eq!(trial.row(&id).await, after, "a second requeue changes nothing");
        let claimed = worker.claim_one().await;
        assert!(trial.is(&id, &claimed.lease.id), "it is claimable at once");
        assert_eq!(worker.requeue(&id).await, 0, "a claimed row is its worker's");
        assert_eq!(worker.end(&claimed, Transition::Delivered).await, Held::Held);
    }
    all_of_a_state(trial, moves[0].0, moves[0].1).await;
    others_stay(trial).await;
}

async fn all_of_a_state(trial: &Trial, from: StateId, to: StateId) {
    let worker = trial.worker("b").await;
    let mut ids = Vec::new();
    for n in 100..105 {
        ids.push(trial.put(trial.row_in(n, from).await).await);
    }
    let which = |limit| Which::State { state: trial.subject.state_name(from).to_owned(), since: None, limit };
    assert_eq!(worker.store.requeue(&which(2)).await.expect("it answers"), 2, "at most the limit");
    assert_eq!(worker.store.requeue(&which(100)).await.expect("it answers"), 3);
    assert_eq!(worker.store.requeue(&which(100)).await.expect("it answers"), 0);
    for id in &ids {
        trial.assert_state(id, to).await;
        trial.expel(id).await;
    }
}

/// Checks that a requeue leaves rows in other states alone.
async fn others_stay(trial: &Trial) {
    let worker = trial.worker("c").await;
    let requeue = trial.subject.contract.requeue.clone().expect("checked");
    for index in 0..trial.subject.contract.states.len() {
        if requeue.moves.iter().any(|(from, _)| from.0 == index) {
            continue;
        }
        let id = trial.put(trial.row_in(200 + index, StateId(index)).await).await;
        let before = trial.row(&id).await;
        assert_eq!(worker.requeue(&id).await, 0, "{}", trial.subject.state_name(StateId(index)));
        assert_eq!(trial.row(&id).await, before);
    }
}

pub(crate) fn no_cancel(subject: &Subject, _: Kind) -> Option<&'static str> {
    subject.contract.cancel.is_none().then_some("no cancelled state")
}

pub(crate) async fn cancel(trial: &Trial) {
    let worker = trial.worker("a").await;
    let moves = trial.subject.contract.cancel.clone().expect("checked").moves;
    for (n, (from, to)) in moves.iter().enumerate() {
        let id = trial.put(trial.row_in(n + 1, *from).await).await;
        assert_eq!(worker.store.cancel(&one(&id)).await.expect("it answers"), 1);
        trial.assert_state(&id, *to).await;
        let after = trial.row(&id).await;
        assert_eq!(worker.store.cancel(&one(&id)).await.expect("it answers"), 0, "it is cancelled already");
        assert_eq!(trial.row(&id).await, after);
        assert!(worker.claim(10).await.is_empty(), "a cancelled row is never claimed");
    }
    let (id, claimed) = trial.claimed_by(&worker, 50).await;
    assert_eq!(worker.store.cancel(&one(&id)).await.expect("it answers"), 1, "in flight");
    assert_eq!(worker.end(&claimed, Transition::Delivered).await, Held::Lost, "the cancel wins");
    trial.assert_state(&id, moves[0].1).await;
    let finished = trial.put(trial.row_in(51, trial.subject.stage().delivered).await).await;
    assert_eq!(worker.store.cancel(&one(&finished)).await.expect("it answers"), 0, "too late");
    trial.assert_state(&finished, trial.subject.stage().delivered).await;
    cancel_all_of_a_state(trial, moves[0].0).await;
}

async fn cancel_all_of_a_state(trial: &Trial, from: StateId) {
    let worker = trial.worker("b").await;
    for n in 60..63 {
        trial.put(trial.row_in(n, from).await).await;
    }
    let which = |limit| Which::State { state: trial.subject.state_name(from).to_owned(), since: None, limit };
    assert_eq!(worker.store.cancel(&which(2)).await.expect("it answers"), 2, "at most the limit");
    assert_eq!(worker.store.cancel(&which(100)).await.expect("it answers"), 1, "and no row of another state");
}

pub(crate) fn has_cancel(subject: &Subject, _: Kind) -> Option<&'static str> {
    subject.contract.cancel.is_some().then_some("there is a cancelled state")
}

pub(crate) async fn no_cancel_without_a_state(trial: &Trial) {
    let worker = trial.worker("a").await;
    let id = trial.put(trial.ready_row(1).await).await;
    let before = trial.row(&id).await;
    assert!(worker.store.cancel(&one(&id)).await.is_err(), "it says that it can't");
    assert_eq!(trial.row(&id).await, before);
}

pub(crate) async fn census_and_pages(trial: &Trial) {
    let worker = trial.worker("a").await;
    let ids = trial.put_ready(7).await;
    worker.claim(2).await;
    let census = worker.store.census().await.expect("it answers");
    let rows = |state| {
        census.iter().find(|count| count.state == trial.subject.state_name(state)).map(|count| count.rows)
    };
    assert_eq!(rows(trial.subject.ready()), Some(5), "{census:?}");
    assert_eq!(rows(trial.subject.claimed()), Some(2), "{census:?}");
    let mut query = Query {
        state: Some(trial.subject.state_name(trial.subject.ready()).to_owned()),
        limit: 2,
        after: None,
        ..Query::default()
    };
    let mut seen = Vec::new();
    for _ in 0..10 {
        let page = worker.store.browse(&query).await.expect("it answers");
        assert!(page.rows.len() <= 2, "a page has its limit");
        seen.extend(page.rows.into_iter().map(|row| row.id));
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), 5, "every row once: {seen:?}");
    let Which::Ids(first) = one(&ids[0]) else { unreachable!("one row is named by its key") };
    let shown = worker.store.show(&first[0]).await.expect("it answers").expect("it is there");
    assert_eq!(shown.id, first[0]);
    assert!(worker.store.show("999999").await.expect("it answers").is_none(), "there is no such row");
    let lag = worker.store.lag().await.expect("it answers");
    let claim = lag.oldest_claim_seconds.expect("two are claimed");
    // MySQL rounds a time with whole seconds up or down.
    assert!((-1.0..10.0).contains(&claim), "claimed just now, not {claim} s ago");
    let due = lag.oldest_due_seconds.expect("five are due");
    let most = Duration::from_secs(3700).as_secs_f64();
    assert!((0.0..most).contains(&due), "due for at most an hour, not {due} s");
}
