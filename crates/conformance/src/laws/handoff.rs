//! Laws of the hand-off to an external queue: what a pointer can claim, what is published, and what happens if the
//! queue refuses.

use std::time::Duration;

use postrider_contract::{Hold, Role, Transition, When};
use postrider_seams::handoff::{Offer, Taken};
use postrider_seams::store::SweepKind;
use postrider_seams::{Handoff, RowId};

use crate::arena::Kind;
use crate::cell::{Cell, Row};
use crate::row::{HOUR, SECOND};
use crate::subject::Subject;
use crate::trial::{Trial, Worker, patiently};

use super::groups::modes;

pub(crate) fn no_queue(subject: &Subject, kind: Kind) -> Option<&'static str> {
    if kind == Kind::DynamoDb {
        return Some("hands nothing to a queue");
    }
    subject.contract.queue_of(subject.stage()).is_none().then_some("hands nothing to a queue")
}

pub(crate) fn nothing_kept(subject: &Subject, kind: Kind) -> Option<&'static str> {
    let kept = !modes(subject).is_empty() && subject.contract.pool.is_some();
    no_queue(subject, kind).or((!kept).then_some("a queue can carry every row"))
}

fn key(id: &Cell) -> RowId {
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

    async fn claim_named(&self, ids: &[Cell]) -> Taken {
        let rows: Vec<RowId> = ids.iter().map(key).collect();
        patiently(|| self.handoff().claim_named(&rows)).await
    }

    async fn offer(&self, offer: Offer) -> Vec<RowId> {
        patiently(|| self.handoff().offer(offer, 100)).await
    }

    async fn recall(&self, ids: &[Cell]) -> u64 {
        let rows: Vec<RowId> = ids.iter().map(key).collect();
        patiently(|| self.handoff().recall(&rows)).await
    }
}

impl Trial {
    fn mark(&self) -> String {
        let handoff = self.subject.contract.queue_of(self.subject.stage());
        handoff.expect("the law is about queues").mark.to_owned()
    }

    /// Inserts the n-th row in a ready state, with a mark of this age or none.
    async fn put_marked(&self, n: usize, state: usize, mark: Option<i64>) -> Cell {
        let mut row = self.row_in(n, self.subject.stage().ready[state]).await;
        let now = self.arena.now().await;
        row.insert(self.mark(), mark.map_or(Cell::Null, |age| Cell::Time(now - age)));
        self.put(row).await
    }

    async fn marked(&self, id: &Cell) -> Option<i64> {
        self.row(id).await.get(&self.mark()).and_then(Cell::as_time)
    }

    /// Inserts a row of an ordered group and one of a pool, ready, without a mark.
    async fn put_kept(&self) -> [Cell; 2] {
        let mode = modes(&self.subject).pop().unwrap_or(Hold::Wait);
        let ordered = self.put(self.grouped("a", 1, mode, self.arena.now().await)).await;
        let mut pooled = self.ready_row(700).await;
        pooled.insert(self.subject.column(Role::Pool).expect("it has pools").to_owned(), Cell::text("p"));
        [ordered, self.put(pooled).await]
    }

    /// Checks the same for such rows that are retried.
    async fn again_kept(&self, worker: &Worker) {
        let mark = Cell::Time(self.arena.now().await - SECOND);
        let mut row = self.row_in(800, self.subject.stage().ready[1]).await;
        row.insert(self.subject.column(Role::Pool).expect("it has pools").to_owned(), Cell::text("p"));
        row.insert(self.mark(), mark.clone());
        let pooled = self.put(row).await;
        assert_eq!(worker.recall(std::slice::from_ref(&pooled)).await, 0);
        self.set(&pooled, &self.mark(), Cell::Null).await;
        assert!(!worker.offer(Offer::Due).await.iter().any(|row| self.is(&pooled, row)));
        self.expel(&pooled).await;
    }

    fn stale_age(&self) -> i64 {
        let contract = &self.subject.contract;
        let handoff = contract.queue_of(self.subject.stage()).expect("the law is about queues");
        match &contract.sweeps[handoff.stale].when {
            When::OlderThan { age, .. } => i64::try_from(age.as_micros()).expect("short"),
            other => panic!("a queue forgets by age, not by {other:?}"),
        }
    }
}

fn among(taken: &Taken, trial: &Trial, id: &Cell) -> usize {
    taken.rows.iter().filter(|row| trial.is(id, &row.lease.id)).count()
}

pub(crate) async fn named_rows_are_claimed(trial: &Trial) {
    let ids = trial.put_ready(4).await;
    let worker = trial.worker("one").await;
    let unknown = match &ids[0] {
        Cell::Int(_) => Cell::Int(987_654_321),
        _ => Cell::text("nobody knows"),
    };
    let taken = worker.claim_named(&[ids[2].clone(), unknown, ids[0].clone()]).await;
    assert_eq!((taken.rows.len(), taken.busy.len(), taken.kept), (2, 0, 0));
    for (id, claimed) in ids.iter().zip([true, false, true, false]) {
        assert_eq!(among(&taken, trial, id), usize::from(claimed), "{id:?}");
        let state = if claimed { trial.subject.claimed() } else { trial.subject.ready() };
        trial.assert_state(id, state).await;
    }
    let again = trial.worker("two").await.claim_named(&ids[..1]).await;
    assert!(again.rows.is_empty() && again.busy.is_empty(), "who comes second has nothing to do");
    for row in &taken.rows {
        assert_eq!(worker.end(row, Transition::Delivered).await, postrider_seams::store::Held::Held);
    }
    trial.assert_state(&ids[0], trial.subject.stage().delivered).await;
}

pub(crate) async fn one_of_many_gets_a_named_row(trial: &Trial) {
    let ids = trial.put_ready(20).await;
    let workers =
        futures::future::join_all(["one", "two", "three", "four"].map(|name| trial.worker(name))).await;
    let mut left: Vec<Vec<Cell>> = vec![ids.clone(); workers.len()];
    let mut got = vec![0; ids.len()];
    // A worker that finds the row locked by another tries again, as it would for a redelivered pointer.
    for _ in 0..200 {
        let claims = workers.iter().zip(&left).map(|(worker, ids)| worker.claim_named(ids));
        let taken = futures::future::join_all(claims).await;
        for (at, id) in ids.iter().enumerate() {
            got[at] += taken.iter().map(|taken| among(taken, trial, id)).sum::<usize>();
        }
        left = taken
            .iter()
            .map(|taken| {
                ids.iter().filter(|id| taken.busy.iter().any(|row| trial.is(id, row))).cloned().collect()
            })
            .collect();
        if left.iter().all(Vec::is_empty) {
            break;
        }
    }
    assert!(left.iter().all(Vec::is_empty), "nothing stays looked at");
    assert_eq!(got, vec![1; ids.len()], "each row goes to one of them");
}

pub(crate) async fn named_claims_keep_every_condition(trial: &Trial) {
    let worker = trial.worker("one").await;
    let now = trial.arena.now().await;
    let contract = &trial.subject.contract;
    let handoff = contract.queue_of(trial.subject.stage()).expect("the law is about queues");
    let mut late = trial.ready_row(1).await;
    late.insert(trial.subject.column(Role::Due).expect("it has one").to_owned(), Cell::Time(now + HOUR));
    let mut spent = trial.ready_row(2).await;
    spent.insert(trial.subject.column(Role::Attempts).expect("it has one").to_owned(), Cell::Int(999));
    let waiting = trial.row_in(3, contract.sweeps[handoff.offer].from[0]).await;
    let done = trial.row_in(4, trial.subject.stage().delivered).await;
    let mut ids = Vec::new();
    for row in [late, spent, waiting, done] {
        ids.push(trial.put(row).await);
    }
    for (place, sweep) in trial.bars().into_iter().enumerate() {
        let mut barred = trial.ready_row(5 + place).await;
        trial.bar(sweep, &mut barred, true).await;
        ids.push(trial.put(barred).await);
    }
    let before: Vec<Row> = trial.rows().await;
    let taken = worker.claim_named(&ids).await;
    assert_eq!((taken.rows.len(), taken.busy.len(), taken.kept), (0, 0, 0));
    assert_eq!(trial.rows().await, before, "nothing was written");
}

pub(crate) async fn no_queue_carries_order_or_pools(trial: &Trial) {
    let kept = trial.put_kept().await;
    let plain = trial.put(trial.ready_row(1).await).await;
    let worker = trial.worker("one").await;
    let before: Vec<Row> = trial.rows().await;
    let taken = worker.claim_named(&kept).await;
    assert_eq!((taken.rows.len(), taken.busy.len(), taken.kept), (0, 0, 2));
    assert!(
        worker.offer(Offer::Due).await.iter().all(|row| trial.is(&plain, row)),
        "they need no publication"
    );
    assert_eq!(worker.recall(&kept).await, 0, "nor do they wait for the queue");
    trial.set(&plain, &trial.mark(), Cell::Null).await;
    assert_eq!(trial.rows().await.len(), before.len());
    let claimed = patiently(|| worker.handoff().claim_kept(10)).await;
    assert_eq!(claimed.len(), 2, "the table gives out both");
    assert!(kept.iter().all(|id| claimed.iter().any(|row| trial.is(id, &row.lease.id))));
    trial.assert_state(&plain, trial.subject.ready()).await;
    if trial.subject.stage().ready.len() > 1 {
        trial.again_kept(&worker).await;
    }
}

pub(crate) async fn due_rows_are_offered_once(trial: &Trial) {
    let worker = trial.worker("one").await;
    let age = trial.stale_age();
    let fresh = trial.put_marked(1, 0, None).await;
    let on_queue = trial.put_marked(2, 0, Some(SECOND)).await;
    let lost = trial.put_marked(3, 0, Some(age + 60 * SECOND)).await;
    let mut late = trial.ready_row(4).await;
    let now = trial.arena.now().await;
    late.insert(trial.subject.column(Role::Due).expect("it has one").to_owned(), Cell::Time(now + HOUR));
    late.insert(trial.mark(), Cell::Null);
    let late = trial.put(late).await;
    let mut spent = trial.ready_row(8).await;
    spent.insert(trial.subject.column(Role::Attempts).expect("it has one").to_owned(), Cell::Int(999));
    spent.insert(trial.mark(), Cell::Null);
    trial.put(spent).await;
    for (place, sweep) in trial.bars().into_iter().enumerate() {
        let mut barred = trial.ready_row(30 + place).await;
        barred.insert(trial.mark(), Cell::Null);
        trial.bar(sweep, &mut barred, true).await;
        trial.put(barred).await;
    }
    // Rows in other states are not published, whatever their mark.
    for state in [trial.subject.claimed(), trial.subject.stage().delivered] {
        let mut other = trial.row_in(10 + state.0, state).await;
        other.insert(trial.mark(), Cell::Null);
        trial.put(other).await;
    }
    let mut expected = vec![&fresh];
    let retried;
    if trial.subject.stage().ready.len() > 1 {
        trial.put_marked(5, 1, Some(SECOND)).await;
        retried = [trial.put_marked(6, 1, None).await, trial.put_marked(7, 1, Some(age + 60 * SECOND)).await];
        expected.extend(&retried);
    }
    let offered = worker.offer(Offer::Due).await;
    assert_eq!(offered.len(), expected.len(), "{offered:?}");
    for id in expected {
        assert!(offered.iter().any(|row| trial.is(id, row)), "{id:?} is due, and nobody has it");
        assert!(trial.marked(id).await.is_some_and(|mark| mark >= now - 5 * SECOND), "it is marked");
    }
    assert!(worker.offer(Offer::Due).await.is_empty(), "once");
    trial.assert_state(&on_queue, trial.subject.ready()).await;
    assert_eq!(trial.marked(&late).await, None, "its time has not come");
    let handoff = trial.subject.contract.queue_of(trial.subject.stage()).expect("the law is about queues");
    assert_eq!(worker.sweep(SweepKind::Contract(handoff.stale)).await, 1, "what the queue lost is swept");
    let waiting = trial.subject.contract.sweeps[handoff.stale].to;
    trial.assert_state(&lost, waiting).await;
    let offered = worker.offer(Offer::Waiting).await;
    assert!(offered.len() == 1 && trial.is(&lost, &offered[0]), "and offered again");
    trial.assert_state(&lost, trial.subject.ready()).await;
    assert!(trial.marked(&lost).await.is_some_and(|mark| mark >= now - 5 * SECOND), "with a new mark");
}

pub(crate) async fn stale_is_what_a_queue_lost(trial: &Trial) {
    let worker = trial.worker("one").await;
    let kept = trial.put_kept().await;
    let mut late = trial.ready_row(1).await;
    let now = trial.arena.now().await;
    late.insert(trial.subject.column(Role::Due).expect("it has one").to_owned(), Cell::Time(now + HOUR));
    let late = trial.put(late).await;
    for id in kept.iter().chain([&late]) {
        trial.set(id, &trial.mark(), Cell::Time(now - trial.stale_age() - HOUR)).await;
    }
    let handoff = trial.subject.contract.queue_of(trial.subject.stage()).expect("the law is about queues");
    assert_eq!(worker.sweep(SweepKind::Contract(handoff.stale)).await, 0, "they wait for something else");
}

pub(crate) async fn refused_rows_are_recalled(trial: &Trial) {
    let worker = trial.worker("one").await;
    let handoff = trial.subject.contract.queue_of(trial.subject.stage()).expect("the law is about queues");
    let waiting = trial.subject.contract.sweeps[handoff.stale].to;
    let ready = trial.put_marked(1, 0, Some(SECOND)).await;
    let (taken, claimed) = trial.claimed_by(&worker, 2).await;
    let done = trial.put(trial.row_in(3, trial.subject.stage().delivered).await).await;
    let mut ids = vec![ready.clone(), taken.clone(), done.clone()];
    let second = trial.subject.stage().ready.len() > 1;
    if second {
        ids.push(trial.put_marked(4, 1, Some(SECOND)).await);
    }
    // The claim may have taken the other row: then swap the two keys.
    if trial.is(&ready, &claimed.lease.id) {
        ids.swap(0, 1);
    }
    assert_eq!(worker.recall(&ids).await, if second { 2 } else { 1 });
    trial.assert_state(&ids[0], waiting).await;
    trial.assert_state(&ids[1], trial.subject.claimed()).await;
    trial.assert_state(&done, trial.subject.stage().delivered).await;
    if second {
        assert_eq!(trial.marked(&ids[3]).await, None, "it is offered again");
        trial.assert_state(&ids[3], trial.subject.stage().ready[1]).await;
    }
    assert_eq!(worker.end(&claimed, Transition::Delivered).await, postrider_seams::store::Held::Held);
}

pub(crate) async fn rows_that_come_back_are_offered_again(trial: &Trial) {
    let worker = trial.worker("one").await;
    for (n, transition) in
        [Transition::Retry, Transition::Deferred, Transition::Released].into_iter().enumerate()
    {
        let id = trial.put_marked(n + 1, 0, Some(SECOND)).await;
        let taken = worker.claim_named(std::slice::from_ref(&id)).await;
        worker.end(&taken.rows[0], transition).await;
        let offered = worker.offer(Offer::Due).await;
        assert!(offered.iter().any(|row| trial.is(&id, row)), "{transition}: it has fallen due");
        trial.expel(&id).await;
    }
    let id = trial.put_marked(10, 0, Some(SECOND)).await;
    worker.claim_named(std::slice::from_ref(&id)).await;
    trial.age(&id, trial.subject.stage().lease.duration + Duration::from_mins(1)).await;
    worker.reclaim().await;
    let offered = worker.offer(Offer::Due).await;
    assert!(offered.iter().any(|row| trial.is(&id, row)), "its worker was gone");
    trial.expel(&id).await;
    let id = trial.put_marked(11, 0, Some(SECOND)).await;
    let taken = worker.claim_named(std::slice::from_ref(&id)).await;
    worker.end(&taken.rows[0], Transition::Dead).await;
    assert_eq!(worker.requeue(&id).await, 1);
    let offered = worker.offer(Offer::Due).await;
    assert!(offered.iter().any(|row| trial.is(&id, row)), "an operator wants it tried again");
}
