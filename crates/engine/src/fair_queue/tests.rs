use std::time::Duration;

use postrider_contract::Counters;
use postrider_seams::{ClaimedRow, Lease, RowId};

use super::*;
use crate::batch::Batch;
use crate::boot_instant::BootInstant;

fn row(id: i64, share: Option<&str>) -> HeldRow {
    let claimed = ClaimedRow {
        lease: Lease { id: RowId::Int(id), fence: Box::new([]) },
        counters: Counters { attempts: 0, max_attempts: None, schedule: None },
        from: None,
        group: None,
        pool: None,
        share: share.map(Into::into),
        crashes: 0,
        since_crash: 0,
        waited_micros: 0,
        size: 0,
        fields: None,
    };
    let (_, mut held) = Batch::open(vec![claimed], BootInstant::now(), Duration::from_mins(1));
    held.pop().expect("one row")
}

fn ids(rows: &[HeldRow]) -> Vec<RowId> {
    rows.iter().map(|held| held.row.lease.id.clone()).collect()
}

#[test]
fn j09_a_share_waits_for_one_row_of_each_other_not_for_all_of_one() {
    let mut queue = FairQueue::default();
    (0..100).for_each(|id| queue.push(row(id, Some("a"))));
    queue.push(row(100, Some("b")));
    queue.push(row(101, None));
    let first = ids(&queue.take(3));
    assert!(first.contains(&RowId::Int(100)) && first.contains(&RowId::Int(101)), "{first:?}");
    assert_eq!(queue.len(), 99);
    assert_eq!(queue.take(usize::MAX).len(), 99);
    assert!(queue.is_empty() && queue.shares.is_empty() && queue.round.is_empty());
}

#[test]
fn rows_of_one_share_keep_their_order() {
    let mut queue = FairQueue::default();
    (0..5).for_each(|id| queue.push(row(id, Some("a"))));
    assert_eq!(ids(&queue.take(2)), [RowId::Int(0), RowId::Int(1)]);
    assert_eq!(ids(&queue.take(5)), [RowId::Int(2), RowId::Int(3), RowId::Int(4)]);
}

#[test]
fn j09_who_has_most_gives_up_its_last() {
    let mut queue = FairQueue::default();
    (0..5).for_each(|id| queue.push(row(id, Some("a"))));
    queue.push(row(9, Some("b")));
    assert_eq!(ids(&queue.evict(2, |_| 1)), [RowId::Int(4), RowId::Int(3)]);
    assert_eq!(queue.evict(9, |_| 1).len(), 2, "its first stays");
    assert!(queue.evict(9, |_| 1).is_empty());
    assert_eq!(ids(&queue.take(9)), [RowId::Int(0), RowId::Int(9)]);
    assert!(queue.is_empty());
}

#[test]
fn j09_a_share_that_may_not_go_holds_up_no_other() {
    let mut queue = FairQueue::default();
    (0..3).for_each(|id| queue.push(row(id, Some("a"))));
    queue.push(row(9, Some("b")));
    let not_a = |share: &FairnessKey| share.as_deref() != Some("a");
    assert_eq!(queue.next(not_a).map(|held| held.row.lease.id), Some(RowId::Int(9)));
    assert!(queue.next(not_a).is_none());
    assert_eq!(queue.len(), 3);
    assert_eq!(queue.next(|_| true).map(|held| held.row.lease.id), Some(RowId::Int(0)));
}

fn fill(limit: &mut FairShareLimit, name: &str) -> usize {
    let (before, share) = (limit.all, Some(name.into()));
    while limit.may_begin(&share) {
        limit.record_begin(share.clone());
    }
    limit.all - before
}

#[test]
fn j09_no_share_gets_all_deliveries_and_a_new_one_finds_some() {
    let mut limit = FairShareLimit::with_room(Some(512));
    assert_eq!(fill(&mut limit, "a"), 448);
    let second = fill(&mut limit, "b");
    assert!((50..64).contains(&second), "{second}");
    for n in 0..2 {
        assert!(fill(&mut limit, &format!("late {n}")) > 0);
    }
    let a: FairnessKey = Some("a".into());
    (0..448).for_each(|_| limit.record_end(&a));
    assert!(!limit.of.contains_key(&a) && limit.may_begin(&a));
}

#[test]
fn a_few_deliveries_are_not_divided() {
    for room in 1..8 {
        assert_eq!(fill(&mut FairShareLimit::with_room(Some(room)), "a"), room);
    }
    let mut unbounded = FairShareLimit::default();
    (0..10_000).for_each(|_| unbounded.record_begin(None));
    assert!(unbounded.may_begin(&None));
}
