//! Laws of sweeps, the contract's own timed moves.

use std::time::Duration;

use postrider_contract::{Sweep, When};
use postrider_seams::store::SweepKind;

use crate::cell::Cell;
use crate::row::{HOUR, SECOND};
use crate::subject::Subject;
use crate::test_case::TestCase;
use crate::test_table::TestedStore;

pub(crate) fn no_sweeps(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    subject.contract.sweeps.is_empty().then_some("no sweeps")
}

pub(crate) async fn sweeps_move_their_rows(case: &TestCase) {
    let worker = case.worker("a").await;
    let mut n = 0;
    for (index, sweep) in case.subject.contract.sweeps.clone().iter().enumerate() {
        for state in sweep.from.clone() {
            let mut inserted = Vec::new();
            for is_due in [true, false] {
                n += 1;
                let mut row = case.row_in(n, state).await;
                set_clock(case, sweep, is_due, &mut row).await;
                inserted.push(case.put(row).await);
            }
            let moved = worker.sweep(SweepKind::Contract(index)).await;
            let always = sweep.when == When::Always;
            assert_eq!(moved, if always { 2 } else { 1 }, "sweep {index}");
            case.assert_state(&inserted[0], sweep.to).await;
            if !always {
                case.assert_state(&inserted[1], state).await;
            }
            let row = case.row(&inserted[0]).await;
            if let Some(reason) = &sweep.reason {
                case.assert_error(&row, reason);
            }
            assert_eq!(case.attempts(&inserted[0]).await, 0, "nothing was tried");
            assert_eq!(worker.sweep(SweepKind::Contract(index)).await, 0, "a second sweep finds nothing");
            // Remove the rows before the next sweep.
            for id in inserted {
                case.finish_by_hand(&id).await;
            }
        }
        null_times(case, index, sweep).await;
        claimed_rows_stay(case, index, sweep).await;
    }
}

/// Sets the row's time so that the sweep applies (`is_due`) or does not yet.
async fn set_clock(case: &TestCase, sweep: &Sweep, is_due: bool, row: &mut crate::Row) {
    let now = case.table.now().await;
    match &sweep.when {
        When::Always => {}
        When::OlderThan { age, since } => {
            let age = i64::try_from(age.as_micros()).expect("short");
            let slack = if is_due { 60 * SECOND } else { -60 * SECOND };
            row.insert(since.clone(), Cell::Time(now - age - slack));
        }
        When::At { column } => {
            row.insert(column.clone(), Cell::Time(if is_due { now - 60 * SECOND } else { now + HOUR }));
        }
        When::Before { column } => {
            row.insert(column.clone(), Cell::Time(if is_due { now + HOUR } else { now - 60 * SECOND }));
        }
    }
}

/// Checks a NULL time: it means never, except for rows to be published to a queue, where it means at once.
async fn null_times(case: &TestCase, index: usize, sweep: &Sweep) {
    let (When::At { column } | When::Before { column }) = &sweep.when else { return };
    let worker = case.worker("c").await;
    let mut row = case.row_in(400 + index, sweep.from[0]).await;
    row.insert(column.clone(), Cell::Null);
    let id = case.put(row).await;
    assert_eq!(worker.sweep(SweepKind::Contract(index)).await, u64::from(sweep.publish), "sweep {index}");
    case.finish_by_hand(&id).await;
}

/// Checks that a sweep leaves claimed rows alone.
async fn claimed_rows_stay(case: &TestCase, index: usize, sweep: &Sweep) {
    if sweep.from.contains(&case.subject.claimed()) {
        return;
    }
    let worker = case.worker("b").await;
    let (id, _) = case.claimed_by(&worker, 500 + index).await;
    let mut is_due = crate::Row::new();
    set_clock(case, sweep, true, &mut is_due).await;
    case.table.update(&id, &is_due).await;
    case.age(&id, Duration::ZERO).await;
    assert_eq!(worker.sweep(SweepKind::Contract(index)).await, 0, "a claimed row is its worker's");
    case.finish_by_hand(&id).await;
}
