//! Tests which outcomes pass, and when.

use super::*;
use crate::batch::tests::held;
use crate::boot_instant::BootInstant;

fn rows(count: i64, transition: Transition) -> Vec<DecidedRow> {
    let (_, held) = held(count, BootInstant::now());
    let row =
        |lease| DecidedRow { transition, reason: Some("no topic".to_owned()), ..DecidedRow::released(lease) };
    held.into_iter().map(|held| row(held.lease)).collect()
}

fn transitions(rows: &[DecidedRow]) -> Vec<Transition> {
    rows.iter().map(|row| row.transition).collect()
}

#[tokio::test(start_paused = true)]
async fn rejections_are_kept_and_handed_back_if_most_rows_are_rejected() {
    let first = FirstRows::new(true);
    assert_eq!(first.pass(rows(19, Transition::Rejected)).len(), 0, "kept");
    let passed = first.pass(rows(1, Transition::Delivered));
    let moves = transitions(&passed);
    assert_eq!(moves.iter().filter(|one| **one == Transition::Delivered).count(), 1, "{moves:?}");
    assert_eq!(moves.iter().filter(|one| **one == Transition::Released).count(), 19, "{moves:?}");
    let later = first.pass(rows(3, Transition::Rejected));
    assert_eq!(transitions(&later), [Transition::Released; 3], "no row ends any more");
    assert_eq!(first.take_kept(true).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn rejections_are_settled_once_the_contract_is_good() {
    let first = FirstRows::new(true);
    assert_eq!(first.pass(rows(10, Transition::Rejected)).len(), 0);
    let passed = first.pass(rows(10, Transition::Delivered));
    assert_eq!(passed.len(), 20);
    assert!(!transitions(&passed).contains(&Transition::Released));
    assert_eq!(first.pass(rows(100, Transition::Rejected)).len(), 100, "it is known");
}

#[tokio::test(start_paused = true)]
async fn a_few_rejections_are_kept_for_a_moment_only() {
    let first = FirstRows::new(true);
    assert_eq!(first.pass(rows(2, Transition::Rejected)).len(), 0);
    assert_eq!(first.take_kept(false).len(), 0, "not yet");
    tokio::time::advance(KEPT_FOR).await;
    assert_eq!(transitions(&first.take_kept(false)), [Transition::Rejected; 2]);
    assert_eq!(first.pass(rows(1, Transition::Rejected)).len(), 0);
    assert_eq!(transitions(&first.take_kept(true)), [Transition::Rejected], "the lane ends");
}

#[tokio::test(start_paused = true)]
async fn rows_that_were_not_tried_say_nothing() {
    let first = FirstRows::new(true);
    assert_eq!(first.pass(rows(30, Transition::Released)).len(), 30);
    assert_eq!(first.pass(rows(9, Transition::Rejected)).len(), 0);
    assert_eq!(first.pass(rows(30, Transition::Deferred)).len(), 30);
    assert_eq!(first.take_kept(true).len(), 9);
    let unwatched = FirstRows::new(false);
    assert_eq!(unwatched.pass(rows(30, Transition::Rejected)).len(), 30);
}
