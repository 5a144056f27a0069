//! Laws of ordered groups: rows of one group are delivered one at a time in order; groups do not wait for each other.

use std::time::Duration;

use postrider_contract::{Hold, OnError, Role, Sweep, Transition, When};
use postrider_seams::Claimed;
use postrider_seams::store::{Held, Settlement, SweepKind};

use crate::arena::Kind;
use crate::cell::{Cell, Row};
use crate::row::{self, HOUR, SECOND};
use crate::subject::Subject;
use crate::trial::{Trial, Worker, one, settlement};

pub(super) const LATER: Duration = Duration::from_mins(15);

/// Returns the contract's modes that keep an order.
pub(super) fn modes(subject: &Subject) -> Vec<Hold> {
    let Some(group) = &subject.contract.group else { return Vec::new() };
    let holds = [Hold::Next, Hold::Wait, Hold::Block].into_iter();
    match &group.on_error {
        OnError::Always(hold) => holds.filter(|one| one == hold).collect(),
        OnError::ByColumn { values, .. } => {
            holds.filter(|hold| values.values().any(|one| one == hold)).collect()
        }
    }
}

pub(crate) fn no_group(subject: &Subject, _: Kind) -> Option<&'static str> {
    modes(subject).is_empty().then_some("no ordered groups")
}

pub(crate) fn no_next(subject: &Subject, _: Kind) -> Option<&'static str> {
    (!modes(subject).contains(&Hold::Next)).then_some("no mode `next`")
}

pub(crate) fn no_wait(subject: &Subject, _: Kind) -> Option<&'static str> {
    (!modes(subject).contains(&Hold::Wait)).then_some("no mode `wait`")
}

pub(crate) fn no_block(subject: &Subject, _: Kind) -> Option<&'static str> {
    (!modes(subject).contains(&Hold::Block)).then_some("no mode `block`")
}

pub(crate) fn no_expiry(subject: &Subject, kind: Kind) -> Option<&'static str> {
    let stopped = subject.stage().stopped();
    let expires = |sweep: &Sweep| matches!(sweep.when, When::At { .. }) && stopped.contains(&sweep.to);
    let none = !subject.contract.sweeps.iter().any(expires);
    no_block(subject, kind).or(none.then_some("no time at which a row is over"))
}

/// Returns the modes in which a row that is retried holds back later rows.
pub(super) fn holding(trial: &Trial) -> Vec<Hold> {
    modes(&trial.subject).into_iter().filter(|hold| *hold != Hold::Next).collect()
}

/// Returns a row's position in that many sequence columns. The first column has pairs that only the second orders, and
/// the second alone would order the pairs wrongly, so a claim that ignores either fails.
fn places(seq: i64, columns: usize) -> Vec<i64> {
    if columns == 1 {
        return vec![seq];
    }
    let pair = (seq + 1) / 2;
    let mut places = vec![pair, seq - 4 * pair];
    places.resize(columns, 0);
    places
}

impl Trial {
    /// Returns a ready row at its position in a group. Keys are in the opposite order.
    pub(super) fn grouped(&self, group: &str, seq: i64, mode: Hold, now: i64) -> Row {
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let n = 900_000 - NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut row = row::ready(self.arena.columns(), &self.subject, n, now);
        let rule = self.subject.contract.group.as_ref().expect("the law is about groups");
        let generated = self.arena.columns().iter().any(|column| column.name == rule.by && column.generated);
        let by = if generated { "message_group" } else { &rule.by };
        row.insert(by.to_owned(), Cell::text(group));
        if let OnError::ByColumn { column, values } = &rule.on_error {
            let value = values.iter().find(|(_, hold)| **hold == mode).map(|(value, _)| value);
            row.insert(column.clone(), Cell::text(value.expect("the contract has the mode")));
        }
        for (column, place) in rule.sequence.iter().zip(places(seq, rule.sequence.len())) {
            let time = self.subject.time_columns().contains(column);
            let cell = if time { Cell::Time(now - HOUR + place * SECOND) } else { Cell::Int(place) };
            row.insert(column.clone(), cell);
        }
        row
    }

    /// Inserts rows 1 to `count` of a group, not in their order.
    pub(super) async fn put_group(&self, group: &str, count: i64, mode: Hold) -> Vec<Cell> {
        let now = self.arena.now().await;
        let mut rows: Vec<Row> = (1..=count).map(|seq| self.grouped(group, seq, mode, now)).collect();
        let id = |row: &Row| row[&self.subject.contract.table.id].clone();
        let keys = rows.iter().map(id).collect();
        rows.reverse();
        self.arena.insert(&self.subject.contract.table.name, &rows).await;
        keys
    }

    /// Inserts rows that have no group.
    async fn put_free(&self, count: usize) -> Vec<Cell> {
        let rule = self.subject.contract.group.as_ref().expect("the law is about groups");
        let generated = self.arena.columns().iter().any(|column| column.name == rule.by && column.generated);
        let mut ids = Vec::new();
        for n in 1..=count {
            let mut row = self.ready_row(n).await;
            if !generated {
                row.insert(rule.by.clone(), Cell::Null);
            }
            ids.push(self.put(row).await);
        }
        ids
    }

    pub(super) async fn set_due(&self, id: &Cell, due: i64) {
        let column = self.subject.column(Role::Due).expect("retries have a due time").to_owned();
        self.set(id, &column, Cell::Time(due)).await;
    }

    pub(super) fn assert_rows(&self, claimed: &[Claimed], expected: &[&Cell]) {
        let got: Vec<String> = claimed.iter().map(|row| row.lease.id.to_string()).collect();
        let same = claimed.iter().zip(expected).all(|(row, id)| self.is(id, &row.lease.id));
        assert!(same && claimed.len() == expected.len(), "claimed {got:?}, should be {expected:?}");
    }
}

/// Settles the first row of a run and hands back the rest in the same call.
pub(super) async fn end_with_rest(worker: &Worker, run: &[Claimed], transition: Transition) {
    let own = settlement(&run[0].lease, transition);
    let rest = run[1..].iter().map(|row| row.lease.clone()).collect();
    let held = worker.settle_one(Settlement { delay: LATER, hands_back: rest, ..own }).await;
    assert_eq!(held, Held::Held);
}

pub(crate) async fn group_in_order(trial: &Trial) {
    for mode in modes(&trial.subject) {
        let (a, b) = (trial.put_group("a", 5, mode).await, trial.put_group("b", 3, mode).await);
        let worker = trial.worker("one").await;
        let claimed = worker.claim(100).await;
        for (key, ids) in [("a", &a), ("b", &b)] {
            let of_group = |row: &&Claimed| ids.iter().any(|id| trial.is(id, &row.lease.id));
            let rows: Vec<Claimed> = claimed.iter().filter(of_group).cloned().collect();
            trial.assert_rows(&rows, &ids.iter().collect::<Vec<_>>());
            let group = rows[0].group.as_ref().expect("it says its group");
            assert!(group.key.ends_with(key), "{group:?}");
            assert_eq!(group.on_error, mode, "it says its mode");
        }
        for row in &claimed {
            assert_eq!(worker.end(row, Transition::Delivered).await, Held::Held);
        }
    }
}

pub(crate) async fn failed_head_holds_its_group_alone(trial: &Trial) {
    let worker = trial.worker("one").await;
    for mode in holding(trial) {
        let a = trial.put_group("a", 3, mode).await;
        let run = worker.claim(10).await;
        trial.assert_rows(&run, &[&a[0], &a[1], &a[2]]);
        end_with_rest(&worker, &run, Transition::Retry).await;
        let b = trial.put_group("b", 1, mode).await;
        trial.assert_rows(&worker.claim(10).await, &[&b[0]]);
        for id in &a[1..] {
            trial.assert_state(id, trial.subject.untried()).await;
            assert_eq!(trial.attempts(id).await, 0, "what was handed back has spent nothing");
        }
        trial.set_due(&a[0], trial.arena.now().await - SECOND).await;
        trial.assert_rows(&worker.claim(10).await, &[&a[0], &a[1], &a[2]]);
        for id in a.iter().chain(&b) {
            trial.expel(id).await;
        }
    }
}

pub(crate) async fn late_head_holds(trial: &Trial) {
    let worker = trial.worker("one").await;
    for mode in modes(&trial.subject) {
        let now = trial.arena.now().await;
        let a = trial.put_group("a", 2, mode).await;
        trial.set_due(&a[0], now + HOUR).await;
        assert!(worker.claim(10).await.is_empty(), "the head is for later, and holds its group");
        trial.set_due(&a[0], now - SECOND).await;
        trial.assert_rows(&worker.claim(1).await, &[&a[0]]);
        for id in &a {
            trial.expel(id).await;
        }
        let b = trial.put_group("b", 3, mode).await;
        trial.set_due(&b[1], now + HOUR).await;
        trial.assert_rows(&worker.claim(10).await, &[&b[0]]);
        for id in &b {
            trial.expel(id).await;
        }
    }
}

pub(crate) async fn spent_head_holds(trial: &Trial) {
    let worker = trial.worker("one").await;
    for mode in holding(trial) {
        let a = trial.put_group("a", 2, mode).await;
        let attempts = trial.subject.column(Role::Attempts).expect("every contract counts").to_owned();
        trial.set(&a[0], &attempts, Cell::Int(99)).await;
        assert!(worker.claim(10).await.is_empty(), "a head without an attempt left waits for its sweep");
        let b = trial.put_group("b", 3, mode).await;
        trial.set(&b[1], &attempts, Cell::Int(99)).await;
        trial.assert_rows(&worker.claim(10).await, &[&b[0]]);
        for id in a.iter().chain(&b) {
            trial.expel(id).await;
        }
    }
}

pub(crate) async fn row_in_flight_holds(trial: &Trial) {
    let (one, two) = (trial.worker("one").await, trial.worker("two").await);
    for mode in modes(&trial.subject) {
        let a = trial.put_group("a", 3, mode).await;
        let head = one.claim(1).await;
        trial.assert_rows(&head, &[&a[0]]);
        assert!(two.claim(10).await.is_empty(), "one at a time");
        assert!(one.claim(10).await.is_empty(), "for its own worker too");
        one.end(&head[0], Transition::Delivered).await;
        let run = two.claim(10).await;
        trial.assert_rows(&run, &[&a[1], &a[2]]);
        two.end(&run[0], Transition::Delivered).await;
        // A row that sorts before those in flight still waits for them.
        let early = trial.put(trial.grouped("a", 0, mode, trial.arena.now().await)).await;
        assert!(one.claim(10).await.is_empty(), "the last of the run is still in flight");
        two.end(&run[1], Transition::Delivered).await;
        trial.assert_rows(&one.claim(10).await, &[&early]);
        trial.expel(&early).await;
    }
}

pub(crate) async fn held_groups_stop_nobody(trial: &Trial) {
    let worker = trial.worker("one").await;
    let mode = modes(&trial.subject)[0];
    let now = trial.arena.now().await;
    let due = trial.subject.column(Role::Due).expect("retries have a due time").to_owned();
    let mut rows = Vec::new();
    for n in 0..300 {
        let group = format!("a{n:03}");
        let mut head = trial.grouped(&group, 1, mode, now);
        head.insert(due.clone(), Cell::Time(now + HOUR));
        rows.push(head);
        rows.push(trial.grouped(&group, 2, mode, now));
    }
    trial.arena.insert(&trial.subject.contract.table.name, &rows).await;
    let (last, middle) = (trial.put_group("z", 2, mode).await, trial.put_group("a100x", 1, mode).await);
    let mut taken = Vec::new();
    for _ in 0..3 {
        let rows = worker.claim(2).await;
        for row in &rows {
            worker.end(row, Transition::Delivered).await;
        }
        taken.extend(rows);
    }
    let found = |id: &Cell| taken.iter().any(|row| trial.is(id, &row.lease.id));
    assert!(last.iter().chain(&middle).all(found), "free groups are found among held ones");
    assert_eq!(taken.len(), 3, "and nothing else");
}

pub(crate) async fn dead_head_blocks(trial: &Trial) {
    let worker = trial.worker("one").await;
    let mode = Hold::Block;
    let a = trial.put_group("a", 2, mode).await;
    let run = worker.claim(10).await;
    end_with_rest(&worker, &run, Transition::Dead).await;
    assert!(worker.claim(10).await.is_empty(), "until an operator acts");
    assert_eq!(worker.requeue(&a[0]).await, 1);
    let run = worker.claim(10).await;
    trial.assert_rows(&run, &[&a[0], &a[1]]);
    end_with_rest(&worker, &run, Transition::Dead).await;
    let b = trial.put_group("b", 1, mode).await;
    trial.assert_rows(&worker.claim(10).await, &[&b[0]]);
    if trial.subject.contract.cancel.is_some() {
        assert_eq!(worker.store.cancel(&one(&a[0])).await.expect("there is a cancelled state"), 1);
    } else {
        trial.expel(&a[0]).await;
    }
    trial.assert_rows(&worker.claim(10).await, &[&a[1]]);
}

pub(crate) async fn expired_head_releases(trial: &Trial) {
    let worker = trial.worker("one").await;
    let a = trial.put_group("a", 2, Hold::Block).await;
    let run = worker.claim(10).await;
    end_with_rest(&worker, &run, Transition::Dead).await;
    assert!(worker.claim(10).await.is_empty(), "until an operator acts");
    trial.set(&a[0], "expires_at", Cell::Time(trial.arena.now().await - SECOND)).await;
    trial.assert_rows(&worker.claim(10).await, &[&a[1]]);
    let b = trial.put_group("b", 3, Hold::Block).await;
    trial.set(&b[1], "expires_at", Cell::Time(trial.arena.now().await - SECOND)).await;
    let run = worker.claim(10).await;
    trial.assert_rows(&run, &[&b[0]]);
    worker.end(&run[0], Transition::Delivered).await;
    assert!(worker.claim(10).await.is_empty(), "it is not sent, and not passed before it is swept");
    let expires = |sweep: &Sweep| matches!(sweep.when, When::At { .. }) && !sweep.publish;
    let sweep = trial.subject.contract.sweeps.iter().position(expires).expect("rows expire");
    assert_eq!(worker.sweep(SweepKind::Contract(sweep)).await, 1);
    trial.assert_rows(&worker.claim(10).await, &[&b[2]]);
}

pub(crate) async fn dead_head_releases(trial: &Trial) {
    let worker = trial.worker("one").await;
    let a = trial.put_group("a", 3, Hold::Wait).await;
    let run = worker.claim(1).await;
    worker.end(&run[0], Transition::Dead).await;
    let next = worker.claim(1).await;
    trial.assert_rows(&next, &[&a[1]]);
    assert_eq!(worker.requeue(&a[0]).await, 1);
    assert!(worker.claim(10).await.is_empty(), "a row of the group is in flight");
    worker.end(&next[0], Transition::Delivered).await;
    trial.assert_rows(&worker.claim(10).await, &[&a[0], &a[2]]);
}

pub(crate) async fn next_goes_after_a_failure(trial: &Trial) {
    let worker = trial.worker("one").await;
    let a = trial.put_group("a", 3, Hold::Next).await;
    let head = worker.claim(1).await;
    let retry = Settlement { delay: LATER, ..settlement(&head[0].lease, Transition::Retry) };
    assert_eq!(worker.settle_one(retry).await, Held::Held);
    let second = worker.claim(1).await;
    trial.assert_rows(&second, &[&a[1]]);
    trial.set_due(&a[0], trial.arena.now().await - SECOND).await;
    assert!(worker.claim(10).await.is_empty(), "still one at a time");
    worker.end(&second[0], Transition::Delivered).await;
    let again = worker.claim(1).await;
    trial.assert_rows(&again, &[&a[0]]);
    worker.end(&again[0], Transition::Dead).await;
    trial.assert_rows(&worker.claim(10).await, &[&a[2]]);
}

pub(crate) async fn rows_without_a_group_are_free(trial: &Trial) {
    let worker = trial.worker("one").await;
    let mode = modes(&trial.subject)[0];
    let a = trial.put_group("a", 2, mode).await;
    let now = trial.arena.now().await;
    trial.set_due(&a[0], now + HOUR).await;
    let mut free = trial.put_free(4).await;
    let rule = trial.subject.contract.group.clone().expect("a group");
    if let OnError::ByColumn { column, values } = &rule.on_error
        && let Some((value, _)) = values.iter().find(|(_, hold)| **hold == Hold::Parallel)
    {
        let mut parallel = trial.grouped("a", 3, mode, now);
        parallel.insert(column.clone(), Cell::text(value));
        free.push(trial.put(parallel).await);
    }
    let (first, rest) = (worker.claim(1).await, worker.claim(10).await);
    let taken: Vec<Claimed> = first.into_iter().chain(rest).collect();
    assert_eq!(taken.len(), free.len(), "all that are free, at once");
    assert!(free.iter().all(|id| taken.iter().any(|row| trial.is(id, &row.lease.id))));
    assert!(taken.iter().all(|row| row.group.is_none()), "they keep no order");
}

pub(crate) async fn capacity_is_lent(trial: &Trial) {
    let worker = trial.worker("one").await;
    let mode = modes(&trial.subject)[0];
    trial.put_group("a", 12, mode).await;
    trial.put_free(12).await;
    let both = worker.claim(8).await;
    let ordered = both.iter().filter(|row| row.group.is_some()).count();
    assert_eq!((both.len(), ordered), (8, 4), "half each");
    for row in &both {
        worker.end(row, Transition::Delivered).await;
    }
    let mut left = 0;
    loop {
        let rows = worker.claim(12).await;
        if rows.is_empty() {
            break;
        }
        left += rows.len();
        for row in &rows {
            worker.end(row, Transition::Delivered).await;
        }
    }
    assert_eq!(left, 16, "what one kind leaves, the other takes");
}

pub(crate) async fn runs_grow_when_few_groups_are_free(trial: &Trial) {
    let worker = trial.worker("one").await;
    let mode = modes(&trial.subject)[0];
    let a = trial.put_group("a", 120, mode).await;
    let run = worker.claim(120).await;
    trial.assert_rows(&run, &a.iter().collect::<Vec<_>>());
    // The first rows of a group with more rows than a run has.
    let b = trial.put_group("b", 120, mode).await;
    trial.assert_rows(&worker.claim(10).await, &b[..10].iter().collect::<Vec<_>>());
}

pub(crate) fn no_young_rows(subject: &Subject, kind: Kind) -> Option<&'static str> {
    no_group(subject, kind).or_else(|| super::claim::no_minimum_age(subject, kind))
}

pub(crate) async fn young_row_waits(trial: &Trial) {
    let worker = trial.worker("one").await;
    let created = trial.subject.column(Role::Created).expect("the age is counted from it").to_owned();
    for mode in modes(&trial.subject) {
        let a = trial.put_group("a", 3, mode).await;
        trial.set(&a[2], &created, Cell::Time(trial.arena.now().await + HOUR)).await;
        trial.assert_rows(&worker.claim(10).await, &[&a[0], &a[1]]);
        let b = trial.put_group("b", 1, mode).await;
        trial.set(&b[0], &created, Cell::Time(trial.arena.now().await + HOUR)).await;
        assert!(worker.claim(10).await.is_empty(), "it is too young");
        for id in a.iter().chain(&b) {
            trial.expel(id).await;
        }
    }
}
