//! Chooses the rows of runs for a call. A run is the rows of one group, in order, never in two calls at once; a row
//! without order is a run of its own.
//!
//! If the transport keeps the order within a call, a run is sent in one call (pipelined). Otherwise each call carries
//! one row of the run, together with rows of other groups, and the rest of the run goes back to the end of the queue,
//! so that no group waits for the whole of another.

use crate::batch::HeldRow;
use crate::call::{Call, hand_back_run};
use crate::large;
use crate::runner::Runner;
use crate::suspect::is_suspect;
use crate::waiting::Run;

/// Fills a call with the next rows of each run, at most `most`. Large rows are delivered in calls of their own, because
/// such a call waits for its byte budget.
pub(crate) async fn call(runner: &Runner, runs: Vec<Run>, most: usize) -> Call<'_> {
    let mut call = Call::default();
    let runs: Vec<Run> =
        runs.into_iter().map(|run| keep_safe(runner, run)).filter(|run| !run.is_empty()).collect();
    if runs.first().is_some_and(large::is_large) {
        let (large, others): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(large::is_large);
        for run in others {
            runner.waiting.put_back(run);
        }
        large::add(runner, &mut call, large, most).await;
        return call;
    }
    let mut room = most.max(1);
    for run in runs {
        if room == 0 || large::is_large(&run) {
            runner.waiting.put_back(run);
        } else {
            room -= choose(runner, &mut call, run, room);
        }
    }
    call
}

/// Adds the rows of a run that are delivered now; returns how many.
fn choose(runner: &Runner, call: &mut Call<'_>, mut run: Run, room: usize) -> usize {
    let alone = run.front().is_some_and(|first| is_suspect(&first.row));
    let most = if alone || !runner.transport.capabilities().keeps_order { 1 } else { room };
    let goes = |held: &&HeldRow| held.row.fields.is_some() && (alone || !is_suspect(&held.row));
    let rows = run.iter().take(most).take_while(goes).count();
    let behind = run.split_off(rows);
    call.add(run, behind);
    rows
}

/// Keeps the rows before the first one whose lease was lost or ends too soon, because another worker may have that row.
/// Hands back the rest; all of it if the lane is closed.
fn keep_safe(runner: &Runner, mut run: Run) -> Run {
    let margin = runner.lease_margin();
    let is_open = runner.state.is_open();
    let safe = run.iter().take_while(|held| is_open && held.lease.may_begin(margin)).count();
    hand_back_run(runner, run.split_off(safe));
    run
}
