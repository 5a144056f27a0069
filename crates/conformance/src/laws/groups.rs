//! Laws of ordered groups: rows of one group are delivered one at a time in order; groups do not wait for each other.

use postrider_contract::{ColumnRole, GroupMode, OnError, Sweep, Transition, When};
use postrider_seams::ClaimedRow;
use postrider_seams::store::{LeaseResult, Settlement, SweepKind};

use super::group_rows::{RETRY_DELAY, holding_modes, modes, settle_and_hand_back};
use crate::cell::Cell;
use crate::row::{HOUR, SECOND};
use crate::subject::Subject;
use crate::test_case::{TestCase, by_id, settlement};
use crate::test_table::TestedStore;

pub(crate) fn no_group(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    modes(subject).is_empty().then_some("no ordered groups")
}

pub(crate) fn no_next(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    (!modes(subject).contains(&GroupMode::Next)).then_some("no mode `next`")
}

pub(crate) fn no_wait(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    (!modes(subject).contains(&GroupMode::Wait)).then_some("no mode `wait`")
}

pub(crate) fn no_block(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    (!modes(subject).contains(&GroupMode::Block)).then_some("no mode `block`")
}

pub(crate) fn no_expiry(subject: &Subject, kind: TestedStore) -> Option<&'static str> {
    let stopped = subject.stage().operator_states();
    let expires = |sweep: &Sweep| matches!(sweep.when, When::At { .. }) && stopped.contains(&sweep.to);
    let none = !subject.contract.sweeps.iter().any(expires);
    no_block(subject, kind).or(none.then_some("rows do not expire"))
}

pub(crate) async fn group_in_order(case: &TestCase) {
    for mode in modes(&case.subject) {
        let (a, b) = (case.put_group("a", 5, mode).await, case.put_group("b", 3, mode).await);
        let worker = case.worker("one").await;
        let claimed = worker.claim(100).await;
        for (key, ids) in [("a", &a), ("b", &b)] {
            let of_group = |row: &&ClaimedRow| ids.iter().any(|id| case.is(id, &row.lease.id));
            let rows: Vec<ClaimedRow> = claimed.iter().filter(of_group).cloned().collect();
            case.assert_rows(&rows, &ids.iter().collect::<Vec<_>>());
            let group = rows[0].group.as_ref().expect("it says its group");
            assert!(group.key.ends_with(key), "{group:?}");
            assert_eq!(group.on_error, mode, "it says its mode");
        }
        for row in &claimed {
            assert_eq!(worker.settle_with(row, Transition::Delivered).await, LeaseResult::Held);
        }
    }
}

pub(crate) async fn failed_head_holds_its_group_alone(case: &TestCase) {
    let worker = case.worker("one").await;
    for mode in holding_modes(case) {
        let a = case.put_group("a", 3, mode).await;
        let run = worker.claim(10).await;
        case.assert_rows(&run, &[&a[0], &a[1], &a[2]]);
        settle_and_hand_back(&worker, &run, Transition::Retry).await;
        let b = case.put_group("b", 1, mode).await;
        case.assert_rows(&worker.claim(10).await, &[&b[0]]);
        for id in &a[1..] {
            case.assert_state(id, case.subject.untried()).await;
            assert_eq!(case.attempts(id).await, 0, "what was handed back has spent nothing");
        }
        case.set_due(&a[0], case.table.now().await - SECOND).await;
        case.assert_rows(&worker.claim(10).await, &[&a[0], &a[1], &a[2]]);
        for id in a.iter().chain(&b) {
            case.finish_by_hand(id).await;
        }
    }
}

pub(crate) async fn late_head_holds(case: &TestCase) {
    let worker = case.worker("one").await;
    for mode in modes(&case.subject) {
        let now = case.table.now().await;
        let a = case.put_group("a", 2, mode).await;
        case.set_due(&a[0], now + HOUR).await;
        assert!(worker.claim(10).await.is_empty(), "the head is for later, and holds its group");
        case.set_due(&a[0], now - SECOND).await;
        case.assert_rows(&worker.claim(1).await, &[&a[0]]);
        for id in &a {
            case.finish_by_hand(id).await;
        }
        let b = case.put_group("b", 3, mode).await;
        case.set_due(&b[1], now + HOUR).await;
        case.assert_rows(&worker.claim(10).await, &[&b[0]]);
        for id in &b {
            case.finish_by_hand(id).await;
        }
    }
}

pub(crate) async fn spent_head_holds(case: &TestCase) {
    let worker = case.worker("one").await;
    for mode in holding_modes(case) {
        let a = case.put_group("a", 2, mode).await;
        let attempts = case.subject.column(ColumnRole::Attempts).expect("every contract counts").to_owned();
        case.set(&a[0], &attempts, Cell::Int(99)).await;
        assert!(worker.claim(10).await.is_empty(), "a head without an attempt left waits for its sweep");
        let b = case.put_group("b", 3, mode).await;
        case.set(&b[1], &attempts, Cell::Int(99)).await;
        case.assert_rows(&worker.claim(10).await, &[&b[0]]);
        for id in a.iter().chain(&b) {
            case.finish_by_hand(id).await;
        }
    }
}

pub(crate) async fn row_in_flight_holds(case: &TestCase) {
    let (one, two) = (case.worker("one").await, case.worker("two").await);
    for mode in modes(&case.subject) {
        let a = case.put_group("a", 3, mode).await;
        let head = one.claim(1).await;
        case.assert_rows(&head, &[&a[0]]);
        assert!(two.claim(10).await.is_empty(), "one at a time");
        assert!(one.claim(10).await.is_empty(), "for its own worker too");
        one.settle_with(&head[0], Transition::Delivered).await;
        let run = two.claim(10).await;
        case.assert_rows(&run, &[&a[1], &a[2]]);
        two.settle_with(&run[0], Transition::Delivered).await;
        // A row that sorts before those in flight still waits for them.
        let early = case.put(case.group_row("a", 0, mode, case.table.now().await)).await;
        assert!(one.claim(10).await.is_empty(), "the last of the run is still in flight");
        two.settle_with(&run[1], Transition::Delivered).await;
        case.assert_rows(&one.claim(10).await, &[&early]);
        case.finish_by_hand(&early).await;
    }
}

pub(crate) async fn held_groups_hide_no_free_one(case: &TestCase) {
    let worker = case.worker("one").await;
    let mode = modes(&case.subject)[0];
    let now = case.table.now().await;
    let due = case.subject.column(ColumnRole::Due).expect("retries have a due time").to_owned();
    let mut rows = Vec::new();
    for n in 0..300 {
        let group = format!("a{n:03}");
        let mut head = case.group_row(&group, 1, mode, now);
        head.insert(due.clone(), Cell::Time(now + HOUR));
        rows.push(head);
        rows.push(case.group_row(&group, 2, mode, now));
    }
    case.table.insert(&case.subject.contract.table.name, &rows).await;
    let (last, middle) = (case.put_group("z", 2, mode).await, case.put_group("a100x", 1, mode).await);
    let mut claimed_rows = Vec::new();
    for _ in 0..3 {
        let rows = worker.claim(2).await;
        for row in &rows {
            worker.settle_with(row, Transition::Delivered).await;
        }
        claimed_rows.extend(rows);
    }
    let found = |id: &Cell| claimed_rows.iter().any(|row| case.is(id, &row.lease.id));
    assert!(last.iter().chain(&middle).all(found), "free groups are found among held ones");
    assert_eq!(claimed_rows.len(), 3, "and nothing else");
}

pub(crate) async fn dead_head_blocks(case: &TestCase) {
    let worker = case.worker("one").await;
    let mode = GroupMode::Block;
    let a = case.put_group("a", 2, mode).await;
    let run = worker.claim(10).await;
    settle_and_hand_back(&worker, &run, Transition::Dead).await;
    assert!(worker.claim(10).await.is_empty(), "until an operator acts");
    assert_eq!(worker.requeue(&a[0]).await, 1);
    let run = worker.claim(10).await;
    case.assert_rows(&run, &[&a[0], &a[1]]);
    settle_and_hand_back(&worker, &run, Transition::Dead).await;
    let b = case.put_group("b", 1, mode).await;
    case.assert_rows(&worker.claim(10).await, &[&b[0]]);
    if case.subject.contract.cancel.is_some() {
        assert_eq!(worker.store.cancel(&by_id(&a[0])).await.expect("there is a cancelled state"), 1);
    } else {
        case.finish_by_hand(&a[0]).await;
    }
    case.assert_rows(&worker.claim(10).await, &[&a[1]]);
}

pub(crate) async fn expired_head_releases(case: &TestCase) {
    let worker = case.worker("one").await;
    let a = case.put_group("a", 2, GroupMode::Block).await;
    let run = worker.claim(10).await;
    settle_and_hand_back(&worker, &run, Transition::Dead).await;
    assert!(worker.claim(10).await.is_empty(), "until an operator acts");
    case.set(&a[0], "expires_at", Cell::Time(case.table.now().await - SECOND)).await;
    case.assert_rows(&worker.claim(10).await, &[&a[1]]);
    let b = case.put_group("b", 3, GroupMode::Block).await;
    case.set(&b[1], "expires_at", Cell::Time(case.table.now().await - SECOND)).await;
    let run = worker.claim(10).await;
    case.assert_rows(&run, &[&b[0]]);
    worker.settle_with(&run[0], Transition::Delivered).await;
    assert!(worker.claim(10).await.is_empty(), "it is not sent, and not passed before it is swept");
    let expires = |sweep: &Sweep| matches!(sweep.when, When::At { .. }) && !sweep.publish;
    let sweep = case.subject.contract.sweeps.iter().position(expires).expect("rows expire");
    assert_eq!(worker.sweep(SweepKind::Contract(sweep)).await, 1);
    case.assert_rows(&worker.claim(10).await, &[&b[2]]);
}

pub(crate) async fn dead_head_releases(case: &TestCase) {
    let worker = case.worker("one").await;
    let a = case.put_group("a", 3, GroupMode::Wait).await;
    let run = worker.claim(1).await;
    worker.settle_with(&run[0], Transition::Dead).await;
    let next = worker.claim(1).await;
    case.assert_rows(&next, &[&a[1]]);
    assert_eq!(worker.requeue(&a[0]).await, 1);
    assert!(worker.claim(10).await.is_empty(), "a row of the group is in flight");
    worker.settle_with(&next[0], Transition::Delivered).await;
    case.assert_rows(&worker.claim(10).await, &[&a[0], &a[2]]);
}

pub(crate) async fn next_goes_after_a_failure(case: &TestCase) {
    let worker = case.worker("one").await;
    let a = case.put_group("a", 3, GroupMode::Next).await;
    let head = worker.claim(1).await;
    let retry = Settlement { delay: RETRY_DELAY, ..settlement(&head[0].lease, Transition::Retry) };
    assert_eq!(worker.settle_one(retry).await, LeaseResult::Held);
    let second = worker.claim(1).await;
    case.assert_rows(&second, &[&a[1]]);
    case.set_due(&a[0], case.table.now().await - SECOND).await;
    assert!(worker.claim(10).await.is_empty(), "still one at a time");
    worker.settle_with(&second[0], Transition::Delivered).await;
    let again = worker.claim(1).await;
    case.assert_rows(&again, &[&a[0]]);
    worker.settle_with(&again[0], Transition::Dead).await;
    case.assert_rows(&worker.claim(10).await, &[&a[2]]);
}

pub(crate) async fn rows_without_a_group_are_free(case: &TestCase) {
    let worker = case.worker("one").await;
    let mode = modes(&case.subject)[0];
    let a = case.put_group("a", 2, mode).await;
    let now = case.table.now().await;
    case.set_due(&a[0], now + HOUR).await;
    let mut free = case.put_ungrouped(4).await;
    let rule = case.subject.contract.group.clone().expect("a group");
    if let OnError::ByColumn { column, values } = &rule.on_error
        && let Some((value, _)) = values.iter().find(|(_, hold)| **hold == GroupMode::Parallel)
    {
        let mut parallel = case.group_row("a", 3, mode, now);
        parallel.insert(column.clone(), Cell::text(value));
        free.push(case.put(parallel).await);
    }
    let (first, rest) = (worker.claim(1).await, worker.claim(10).await);
    let claimed_rows: Vec<ClaimedRow> = first.into_iter().chain(rest).collect();
    assert_eq!(claimed_rows.len(), free.len(), "all that are free, at once");
    assert!(free.iter().all(|id| claimed_rows.iter().any(|row| case.is(id, &row.lease.id))));
    assert!(claimed_rows.iter().all(|row| row.group.is_none()), "they keep no order");
}

pub(crate) async fn capacity_is_shared(case: &TestCase) {
    let worker = case.worker("one").await;
    let mode = modes(&case.subject)[0];
    case.put_group("a", 12, mode).await;
    case.put_ungrouped(12).await;
    let both = worker.claim(8).await;
    let ordered = both.iter().filter(|row| row.group.is_some()).count();
    assert_eq!((both.len(), ordered), (8, 4), "half each");
    for row in &both {
        worker.settle_with(row, Transition::Delivered).await;
    }
    let mut left = 0;
    loop {
        let rows = worker.claim(12).await;
        if rows.is_empty() {
            break;
        }
        left += rows.len();
        for row in &rows {
            worker.settle_with(row, Transition::Delivered).await;
        }
    }
    assert_eq!(left, 16, "what one kind leaves, the other takes");
}

pub(crate) async fn runs_grow_when_few_groups_are_free(case: &TestCase) {
    let worker = case.worker("one").await;
    let mode = modes(&case.subject)[0];
    let a = case.put_group("a", 120, mode).await;
    let run = worker.claim(120).await;
    case.assert_rows(&run, &a.iter().collect::<Vec<_>>());
    // The first rows of a group with more rows than a run has.
    let b = case.put_group("b", 120, mode).await;
    case.assert_rows(&worker.claim(10).await, &b[..10].iter().collect::<Vec<_>>());
}

pub(crate) fn no_young_rows(subject: &Subject, kind: TestedStore) -> Option<&'static str> {
    no_group(subject, kind).or_else(|| super::claim::no_minimum_age(subject, kind))
}

pub(crate) async fn young_row_waits(case: &TestCase) {
    let worker = case.worker("one").await;
    let created = case.subject.column(ColumnRole::Created).expect("the age is counted from it").to_owned();
    for mode in modes(&case.subject) {
        let a = case.put_group("a", 3, mode).await;
        case.set(&a[2], &created, Cell::Time(case.table.now().await + HOUR)).await;
        case.assert_rows(&worker.claim(10).await, &[&a[0], &a[1]]);
        let b = case.put_group("b", 1, mode).await;
        case.set(&b[0], &created, Cell::Time(case.table.now().await + HOUR)).await;
        assert!(worker.claim(10).await.is_empty(), "it is too young");
        for id in a.iter().chain(&b) {
            case.finish_by_hand(id).await;
        }
    }
}
