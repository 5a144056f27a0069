//! Laws of sweeps, the contract's own timed moves.

use std::time::Duration;

use postrider_contract::{Sweep, When};
use postrider_seams::store::SweepKind;

use crate::arena::Kind;
use crate::cell::Cell;
use crate::row::{HOUR, SECOND};
use crate::subject::Subject;
use crate::trial::Trial;

pub(crate) fn no_sweeps(subject: &Subject, _: Kind) -> Option<&'static str> {
    subject.contract.sweeps.is_empty().then_some("no sweeps")
}

pub(crate) async fn sweeps_move_their_rows(trial: &Trial) {
    let worker = trial.worker("a").await;
    let mut n = 0;
    for (index, sweep) in trial.subject.contract.sweeps.clone().iter().enumerate() {
        for state in sweep.from.clone() {
            let mut placed = Vec::new();
            for ripe in [true, false] {
                n += 1;
                let mut row = trial.row_in(n, state).await;
                set_clock(trial, sweep, ripe, &mut row).await;
                placed.push(trial.put(row).await);
            }
            let moved = worker.sweep(SweepKind::Contract(index)).await;
            let always = sweep.when == When::Always;
            assert_eq!(moved, if always { 2 } else { 1 }, "sweep {index}");
            trial.assert_state(&placed[0], sweep.to).await;
            if !always {
                trial.assert_state(&placed[1], state).await;
            }
            let row = trial.row(&placed[0]).await;
            if let Some(reason) = &sweep.reason {
                trial.assert_error(&row, reason);
            }
            assert_eq!(trial.attempts(&placed[0]).await, 0, "nothing was tried");
            assert_eq!(worker.sweep(SweepKind::Contract(index)).await, 0, "a second sweep finds nothing");
            // Remove the rows before the next sweep.
            for id in placed {
                trial.expel(&id).await;
            }
        }
        null_times(trial, index, sweep).await;
        claimed_rows_stay(trial, index, sweep).await;
    }
}

/// Sets the row's time so that the sweep applies (`ripe`) or does not yet.
async fn set_clock(trial: &Trial, sweep: &Sweep, ripe: bool, row: &mut crate::Row) {
    let now = trial.arena.now().await;
    match &sweep.when {
        When::Always => {}
        When::OlderThan { age, since } => {
            let age = i64::try_from(age.as_micros()).expect("short");
            let slack = if ripe { 60 * SECOND } else { -60 * SECOND };
            row.insert(since.clone(), Cell::Time(now - age - slack));
        }
        When::At { column } => {
            row.insert(column.clone(), Cell::Time(if ripe { now - 60 * SECOND } else { now + HOUR }));
        }
        When::Before { column } => {
            row.insert(column.clone(), Cell::Time(if ripe { now + HOUR } else { now - 60 * SECOND }));
        }
    }
}

/// Checks a NULL time: it means never, except for rows to be published to a queue, where it means at once.
async fn null_times(trial: &Trial, index: usize, sweep: &Sweep) {
    let (When::At { column } | When::Before { column }) = &sweep.when else { return };
    let worker = trial.worker("c").await;
    let mut row = trial.row_in(400 + index, sweep.from[0]).await;
    row.insert(column.clone(), Cell::Null);
    let id = trial.put(row).await;
    assert_eq!(worker.sweep(SweepKind::Contract(index)).await, u64::from(sweep.publish), "sweep {index}");
    trial.expel(&id).await;
}

/// Checks that a sweep leaves claimed rows alone.
async fn claimed_rows_stay(trial: &Trial, index: usize, sweep: &Sweep) {
    if sweep.from.contains(&trial.subject.claimed()) {
        return;
    }
    let worker = trial.worker("b").await;
    let (id, _) = trial.claimed_by(&worker, 500 + index).await;
    let mut ripe = crate::Row::new();
    set_clock(trial, sweep, true, &mut ripe).await;
    trial.arena.update(&id, &ripe).await;
    trial.age(&id, Duration::ZERO).await;
    assert_eq!(worker.sweep(SweepKind::Contract(index)).await, 0, "a claimed row is its worker's");
    trial.expel(&id).await;
}
