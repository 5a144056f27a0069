//! Laws of lanes with an external queue: which rows can be claimed by id, which are published, and what happens to rows
//! that the queue refuses.

use std::time::Duration;

use postrider_contract::{ColumnRole, GroupMode, Transition, When};
use postrider_seams::handoff::{PointerClaims, PublishSource};
use postrider_seams::store::SweepKind;
use postrider_seams::{Handoff, RowId};

use crate::cell::{Cell, Row};
use crate::row::{HOUR, SECOND};
use crate::subject::Subject;
use crate::test_case::{TestCase, Worker, retry_transient};
use crate::test_table::TestedStore;

use super::group_rows::modes;

pub(crate) fn no_queue(subject: &Subject, kind: TestedStore) -> Option<&'static str> {
    if kind == TestedStore::DynamoDb {
        return Some("has no external queue");
    }
    subject.contract.queue_of(subject.stage()).is_none().then_some("has no external queue")
}

pub(crate) fn no_unqueueable_rows(subject: &Subject, kind: TestedStore) -> Option<&'static str> {
    let unqueueable = !modes(subject).is_empty() && subject.contract.pool.is_some();
    no_queue(subject, kind).or((!unqueueable).then_some("a queue can carry every row"))
}

fn row_id(id: &Cell) -> RowId {
    match id {
        Cell::Int(id) => RowId::Int(*id),
        Cell::Text(id) => RowId::Text(id.as_str().into()),
        other => panic!("no key: {other:?}"),
    }
}

impl Worker {
    fn handoff(&self) -> &dyn Handoff {
        self.store.handoff().expect("the store was opened for a lane with a queue")
    }

    async fn claim_by_id(&self, ids: &[Cell]) -> PointerClaims {
        let rows: Vec<RowId> = ids.iter().map(row_id).collect();
        retry_transient(|| self.handoff().claim_by_id(&rows)).await
    }

    async fn mark_published(&self, source: PublishSource) -> Vec<RowId> {
        retry_transient(|| self.handoff().mark_published(source, 100)).await
    }

    async fn recall(&self, ids: &[Cell]) -> u64 {
        let rows: Vec<RowId> = ids.iter().map(row_id).collect();
        retry_transient(|| self.handoff().recall(&rows)).await
    }
}

impl TestCase {
    fn queue_mark(&self) -> String {
        let handoff = self.subject.contract.queue_of(self.subject.stage());
        handoff.expect("the contract has a queue").published_at.to_owned()
    }

    /// Inserts the n-th row in a ready state, with a mark of this age or none.
    async fn put_marked(&self, n: usize, state: usize, mark: Option<i64>) -> Cell {
        let mut row = self.row_in(n, self.subject.stage().ready[state]).await;
        let now = self.table.now().await;
        row.insert(self.queue_mark(), mark.map_or(Cell::Null, |age| Cell::Time(now - age)));
        self.put(row).await
    }

    async fn marked(&self, id: &Cell) -> Option<i64> {
        self.row(id).await.get(&self.queue_mark()).and_then(Cell::as_time)
    }

    /// Inserts a row of an ordered group and one of a pool, ready, without a mark.
    async fn put_unqueueable(&self) -> [Cell; 2] {
        let mode = modes(&self.subject).pop().unwrap_or(GroupMode::Wait);
        let ordered = self.put(self.group_row("a", 1, mode, self.table.now().await)).await;
        let mut pooled = self.ready_row(700).await;
        pooled
            .insert(self.subject.column(ColumnRole::Pool).expect("it has pools").to_owned(), Cell::text("p"));
        [ordered, self.put(pooled).await]
    }

    /// Checks the same for such rows that are retried.
    async fn check_retried_unqueueable(&self, worker: &Worker) {
        let mark = Cell::Time(self.table.now().await - SECOND);
        let mut row = self.row_in(800, self.subject.stage().ready[1]).await;
        row.insert(self.subject.column(ColumnRole::Pool).expect("it has pools").to_owned(), Cell::text("p"));
        row.insert(self.queue_mark(), mark.clone());
        let pooled = self.put(row).await;
        assert_eq!(worker.recall(std::slice::from_ref(&pooled)).await, 0);
        self.set(&pooled, &self.queue_mark(), Cell::Null).await;
        assert!(!worker.mark_published(PublishSource::Due).await.iter().any(|row| self.is(&pooled, row)));
        self.finish_by_hand(&pooled).await;
    }

    fn stale_age(&self) -> i64 {
        let contract = &self.subject.contract;
        let handoff = contract.queue_of(self.subject.stage()).expect("the contract has a queue");
        match &contract.sweeps[handoff.stale].when {
            When::OlderThan { age, .. } => i64::try_from(age.as_micros()).expect("short"),
            other => panic!("a queue forgets by age, not by {other:?}"),
        }
    }
}

fn count_claimed(claimed_rows: &PointerClaims, case: &TestCase, id: &Cell) -> usize {
    claimed_rows.rows.iter().filter(|row| case.is(id, &row.lease.id)).count()
}

pub(crate) async fn named_rows_are_claimed(case: &TestCase) {
    let ids = case.put_ready(4).await;
    let worker = case.worker("one").await;
    let unknown = match &ids[0] {
        Cell::Int(_) => Cell::Int(987_654_321),
        _ => Cell::text("unknown"),
    };
    let claimed_rows = worker.claim_by_id(&[ids[2].clone(), unknown, ids[0].clone()]).await;
    assert_eq!((claimed_rows.rows.len(), claimed_rows.busy.len(), claimed_rows.unqueueable), (2, 0, 0));
    for (id, claimed) in ids.iter().zip([true, false, true, false]) {
        assert_eq!(count_claimed(&claimed_rows, case, id), usize::from(claimed), "{id:?}");
        let state = if claimed { case.subject.claimed() } else { case.subject.ready() };
        case.assert_state(id, state).await;
    }
    let again = case.worker("two").await.claim_by_id(&ids[..1]).await;
    assert!(again.rows.is_empty() && again.busy.is_empty(), "a second claim returns nothing");
    for row in &claimed_rows.rows {
        assert_eq!(
            worker.settle_with(row, Transition::Delivered).await,
            postrider_seams::store::LeaseResult::Held
        );
    }
    case.assert_state(&ids[0], case.subject.stage().delivered).await;
}

pub(crate) async fn one_of_many_gets_a_named_row(case: &TestCase) {
    let ids = case.put_ready(20).await;
    let workers =
        futures::future::join_all(["one", "two", "three", "four"].map(|name| case.worker(name))).await;
    let mut left: Vec<Vec<Cell>> = vec![ids.clone(); workers.len()];
    let mut got = vec![0; ids.len()];
    // A worker that finds the row locked by another tries again, as it would for a redelivered pointer.
    for _ in 0..200 {
        let claims = workers.iter().zip(&left).map(|(worker, ids)| worker.claim_by_id(ids));
        let claimed_rows = futures::future::join_all(claims).await;
        for (at, id) in ids.iter().enumerate() {
            got[at] +=
                claimed_rows.iter().map(|claimed_rows| count_claimed(claimed_rows, case, id)).sum::<usize>();
        }
        left = claimed_rows
            .iter()
            .map(|claimed_rows| {
                ids.iter()
                    .filter(|id| claimed_rows.busy.iter().any(|row| case.is(id, row)))
                    .cloned()
                    .collect()
            })
            .collect();
        if left.iter().all(Vec::is_empty) {
            break;
        }
    }
    assert!(left.iter().all(Vec::is_empty), "no row stays locked");
    assert_eq!(got, vec![1; ids.len()], "each row goes to one of them");
}

pub(crate) async fn named_claims_keep_every_condition(case: &TestCase) {
    let worker = case.worker("one").await;
    let now = case.table.now().await;
    let contract = &case.subject.contract;
    let handoff = contract.queue_of(case.subject.stage()).expect("the contract has a queue");
    let mut late = case.ready_row(1).await;
    late.insert(
        case.subject.column(ColumnRole::Due).expect("the contract has a due column").to_owned(),
        Cell::Time(now + HOUR),
    );
    let mut spent = case.ready_row(2).await;
    spent.insert(
        case.subject.column(ColumnRole::Attempts).expect("the contract counts attempts").to_owned(),
        Cell::Int(999),
    );
    let waiting = case.row_in(3, contract.sweeps[handoff.publish].from[0]).await;
    let done = case.row_in(4, case.subject.finished()).await;
    let mut ids = Vec::new();
    for row in [late, spent, waiting, done] {
        ids.push(case.put(row).await);
    }
    for (place, sweep) in case.blocking_sweeps().into_iter().enumerate() {
        let mut barred = case.ready_row(5 + place).await;
        case.set_sweep_time(sweep, &mut barred, true).await;
        ids.push(case.put(barred).await);
    }
    let before: Vec<Row> = case.rows().await;
    let claimed_rows = worker.claim_by_id(&ids).await;
    assert_eq!((claimed_rows.rows.len(), claimed_rows.busy.len(), claimed_rows.unqueueable), (0, 0, 0));
    assert_eq!(case.rows().await, before, "nothing was written");
}

pub(crate) async fn no_queue_carries_order_or_pools(case: &TestCase) {
    let unqueueable = case.put_unqueueable().await;
    let plain = case.put(case.ready_row(1).await).await;
    let worker = case.worker("one").await;
    let before: Vec<Row> = case.rows().await;
    let claimed_rows = worker.claim_by_id(&unqueueable).await;
    assert_eq!((claimed_rows.rows.len(), claimed_rows.busy.len(), claimed_rows.unqueueable), (0, 0, 2));
    assert!(
        worker.mark_published(PublishSource::Due).await.iter().all(|row| case.is(&plain, row)),
        "they need no publication"
    );
    assert_eq!(worker.recall(&unqueueable).await, 0, "nor do they wait for the queue");
    case.set(&plain, &case.queue_mark(), Cell::Null).await;
    assert_eq!(case.rows().await.len(), before.len());
    let claimed = retry_transient(|| worker.handoff().claim_unqueueable(10)).await;
    assert_eq!(claimed.len(), 2, "the table gives out both");
    assert!(unqueueable.iter().all(|id| claimed.iter().any(|row| case.is(id, &row.lease.id))));
    case.assert_state(&plain, case.subject.ready()).await;
    if case.subject.stage().ready.len() > 1 {
        case.check_retried_unqueueable(&worker).await;
    }
}

pub(crate) async fn due_rows_are_published_once(case: &TestCase) {
    let worker = case.worker("one").await;
    let age = case.stale_age();
    let fresh = case.put_marked(1, 0, None).await;
    let on_queue = case.put_marked(2, 0, Some(SECOND)).await;
    let lost = case.put_marked(3, 0, Some(age + 60 * SECOND)).await;
    let mut late = case.ready_row(4).await;
    let now = case.table.now().await;
    late.insert(
        case.subject.column(ColumnRole::Due).expect("the contract has a due column").to_owned(),
        Cell::Time(now + HOUR),
    );
    late.insert(case.queue_mark(), Cell::Null);
    let late = case.put(late).await;
    let mut spent = case.ready_row(8).await;
    spent.insert(
        case.subject.column(ColumnRole::Attempts).expect("the contract counts attempts").to_owned(),
        Cell::Int(999),
    );
    spent.insert(case.queue_mark(), Cell::Null);
    case.put(spent).await;
    for (place, sweep) in case.blocking_sweeps().into_iter().enumerate() {
        let mut barred = case.ready_row(30 + place).await;
        barred.insert(case.queue_mark(), Cell::Null);
        case.set_sweep_time(sweep, &mut barred, true).await;
        case.put(barred).await;
    }
    // Rows in other states are not published, whatever their mark.
    for state in [case.subject.claimed(), case.subject.stage().delivered] {
        let mut other = case.row_in(10 + state.0, state).await;
        other.insert(case.queue_mark(), Cell::Null);
        case.put(other).await;
    }
    let mut expected = vec![&fresh];
    let retried;
    if case.subject.stage().ready.len() > 1 {
        case.put_marked(5, 1, Some(SECOND)).await;
        retried = [case.put_marked(6, 1, None).await, case.put_marked(7, 1, Some(age + 60 * SECOND)).await];
        expected.extend(&retried);
    }
    let published = worker.mark_published(PublishSource::Due).await;
    assert_eq!(published.len(), expected.len(), "{published:?}");
    for id in expected {
        assert!(published.iter().any(|row| case.is(id, row)), "{id:?} is due, and nobody has it");
        assert!(case.marked(id).await.is_some_and(|mark| mark >= now - 5 * SECOND), "it is marked");
    }
    assert!(worker.mark_published(PublishSource::Due).await.is_empty(), "once");
    case.assert_state(&on_queue, case.subject.ready()).await;
    assert_eq!(case.marked(&late).await, None, "its time has not come");
    let handoff = case.subject.contract.queue_of(case.subject.stage()).expect("the contract has a queue");
    assert_eq!(worker.sweep(SweepKind::Contract(handoff.stale)).await, 1, "what the queue lost is swept");
    let waiting = case.subject.contract.sweeps[handoff.stale].to;
    case.assert_state(&lost, waiting).await;
    let published = worker.mark_published(PublishSource::Waiting).await;
    assert!(published.len() == 1 && case.is(&lost, &published[0]), "and published again");
    case.assert_state(&lost, case.subject.ready()).await;
    assert!(case.marked(&lost).await.is_some_and(|mark| mark >= now - 5 * SECOND), "with a new mark");
}

pub(crate) async fn only_lost_rows_are_stale(case: &TestCase) {
    let worker = case.worker("one").await;
    let unqueueable = case.put_unqueueable().await;
    let mut late = case.ready_row(1).await;
    let now = case.table.now().await;
    late.insert(
        case.subject.column(ColumnRole::Due).expect("the contract has a due column").to_owned(),
        Cell::Time(now + HOUR),
    );
    let late = case.put(late).await;
    for id in unqueueable.iter().chain([&late]) {
        case.set(id, &case.queue_mark(), Cell::Time(now - case.stale_age() - HOUR)).await;
    }
    let handoff = case.subject.contract.queue_of(case.subject.stage()).expect("the contract has a queue");
    assert_eq!(worker.sweep(SweepKind::Contract(handoff.stale)).await, 0, "they wait for something else");
}

pub(crate) async fn refused_rows_are_recalled(case: &TestCase) {
    let worker = case.worker("one").await;
    let handoff = case.subject.contract.queue_of(case.subject.stage()).expect("the contract has a queue");
    let waiting = case.subject.contract.sweeps[handoff.stale].to;
    let ready = case.put_marked(1, 0, Some(SECOND)).await;
    let (claimed_rows, claimed) = case.claimed_by(&worker, 2).await;
    let done = case.put(case.row_in(3, case.subject.finished()).await).await;
    let mut ids = vec![ready.clone(), claimed_rows.clone(), done.clone()];
    let second = case.subject.stage().ready.len() > 1;
    if second {
        ids.push(case.put_marked(4, 1, Some(SECOND)).await);
    }
    // The claim may have taken the other row: then swap the two keys.
    if case.is(&ready, &claimed.lease.id) {
        ids.swap(0, 1);
    }
    assert_eq!(worker.recall(&ids).await, if second { 2 } else { 1 });
    case.assert_state(&ids[0], waiting).await;
    case.assert_state(&ids[1], case.subject.claimed()).await;
    case.assert_state(&done, case.subject.stage().delivered).await;
    if second {
        assert_eq!(case.marked(&ids[3]).await, None, "it is published again");
        case.assert_state(&ids[3], case.subject.stage().ready[1]).await;
    }
    assert_eq!(
        worker.settle_with(&claimed, Transition::Delivered).await,
        postrider_seams::store::LeaseResult::Held
    );
}

pub(crate) async fn rows_that_come_back_are_published_again(case: &TestCase) {
    let worker = case.worker("one").await;
    for (n, transition) in
        [Transition::Retry, Transition::Deferred, Transition::Released].into_iter().enumerate()
    {
        let id = case.put_marked(n + 1, 0, Some(SECOND)).await;
        let claimed_rows = worker.claim_by_id(std::slice::from_ref(&id)).await;
        worker.settle_with(&claimed_rows.rows[0], transition).await;
        let published = worker.mark_published(PublishSource::Due).await;
        assert!(published.iter().any(|row| case.is(&id, row)), "{transition}: it has fallen due");
        case.finish_by_hand(&id).await;
    }
    let id = case.put_marked(10, 0, Some(SECOND)).await;
    worker.claim_by_id(std::slice::from_ref(&id)).await;
    case.age(&id, case.subject.stage().lease.duration + Duration::from_mins(1)).await;
    worker.reclaim().await;
    let published = worker.mark_published(PublishSource::Due).await;
    assert!(published.iter().any(|row| case.is(&id, row)), "its worker was gone");
    case.finish_by_hand(&id).await;
    let id = case.put_marked(11, 0, Some(SECOND)).await;
    let claimed_rows = worker.claim_by_id(std::slice::from_ref(&id)).await;
    worker.settle_with(&claimed_rows.rows[0], Transition::Dead).await;
    assert_eq!(worker.requeue(&id).await, 1);
    let published = worker.mark_published(PublishSource::Due).await;
    assert!(published.iter().any(|row| case.is(&id, row)), "an operator wants it tried again");
}
