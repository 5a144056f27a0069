//! Chooses the rows of runs for a call. A run is the rows of one group, in order, never in two calls at once; a row
//! without order is a run of its own.
//!
//! If the transport keeps the order within a call, a run is sent in one call (pipelined). Otherwise each call carries
//! one row of the run, together with rows of other groups, and the rest of the run goes back to the end of the queue,
//! so that no group waits for the whole of another.

use postrider_seams::store::Class;

use crate::batch::HeldRow;
use crate::call::{Call, hand_back_run};
use crate::large;
use crate::runner::Runner;
use crate::suspect::is_suspect;
use crate::waiting::Run;

/// Fills a call with the next rows of each run, at most `most`.
pub(crate) async fn call(runner: &Runner, runs: Vec<Run>, most: usize) -> Call<'_> {
    let mut call = Call::default();
    let mut room = most.max(1);
    for run in runs {
        // A large row is delivered alone: two that hold part of the byte budget and wait for more could deadlock.
        let large = run.front().is_some_and(|held| held.row.fields.is_none());
        if room == 0 || (large && !call.is_empty()) {
            runner.waiting.put_back(run);
        } else {
            let rows = choose(runner, &mut call, run, room).await;
            room = if large && rows > 0 { 0 } else { room - rows };
        }
    }
    call
}

/// Adds the rows of a run that are delivered now; returns how many. If there are none, the run was handed back.
async fn choose<'a>(runner: &'a Runner, call: &mut Call<'a>, run: Run, room: usize) -> usize {
    let mut run = keep_safe(runner, run);
    let Some(first) = run.front() else { return 0 };
    if first.row.fields.is_none() {
        return choose_large(runner, call, run).await;
    }
    let alone = is_suspect(&first.row);
    let most = if alone || !runner.transport.capabilities().keeps_order { 1 } else { room };
    let goes = |held: &&HeldRow| held.row.fields.is_some() && (alone || !is_suspect(&held.row));
    let rows = run.iter().take(most).take_while(goes).count();
    let behind = run.split_off(rows);
    call.add(run, behind, None);
    rows
}

/// Loads and adds a row whose fields were too large for the claim; it is delivered alone.
async fn choose_large<'a>(runner: &'a Runner, call: &mut Call<'a>, mut run: Run) -> usize {
    let Some(mut first) = run.pop_front() else { return 0 };
    if let Some(outcome) = large::too_large(runner, first.row.size) {
        call.add_failed(first, outcome, run);
        return 1;
    }
    let bytes = runner.room_for(first.row.size).await;
    let loaded = match first.lease.current() {
        Some(lease) => runner.store.load(&[lease]).await.map(|mut loaded| loaded.pop().flatten()),
        None => Ok(None),
    };
    match loaded {
        Ok(Some(fields)) => {
            first.row.fields = Some(fields);
            call.add([first], run, bytes);
            return 1;
        }
        Err(error) if error.class == Class::Permanent => {
            call.add_failed(first, large::unreadable(&error), run);
            return 1;
        }
        Err(error) => large::wait_after(runner, 1, &error).await,
        Ok(None) => {}
    }
    run.push_front(first);
    hand_back_run(runner, run);
    0
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
