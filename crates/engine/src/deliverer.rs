//! Takes waiting rows in portions that suit the transport, and delivers each in one call (`call.rs`).
//!
//! A row without order is a run of its own, so that all rows take the same way. There are more deliverers than
//! concurrent calls of the transport: the others prepare calls ahead while the database is distant (`sizes.rs`), and
//! are idle otherwise.

use std::sync::Arc;

use crate::batch::HeldRow;
use crate::call::Call;
use crate::runner::Runner;
use crate::runs;
use crate::suspect::{self, is_suspect};
use crate::waiting::{NextDelivery, Portion, Run};

/// Delivers until the lane has drained. `number` counts the deliverers of the lane from 0.
pub(crate) async fn run(runner: Arc<Runner>, number: usize) {
    let workers = runner.workers();
    loop {
        if number >= workers && !runner.calls_ahead.wants(number - workers).await {
            return;
        }
        let can = runner.transport.capabilities();
        let most = runner.call_size.envelopes(can.batch);
        let portion = Portion { most, workers, whole_runs: can.keeps_order };
        // Counted when there are rows: a deliverer may have waited for them since the target was faster.
        let at_most = || runner.calls_ahead.under_way_at_most();
        let Some((next, _in_flight)) = runner.waiting.take(portion, at_most).await else { return };
        match next {
            NextDelivery::Runs(runs) => deliver(&runner, runs, most).await,
            NextDelivery::Rows(rows) => {
                let (inline, large): (Vec<_>, Vec<_>) =
                    rows.into_iter().partition(|row| row.row.fields.is_some());
                deliver_rows(&runner, inline, most).await;
                deliver_rows(&runner, large, most).await;
            }
        }
    }
}

/// Delivers rows without order.
async fn deliver_rows(runner: &Runner, rows: Vec<HeldRow>, most: usize) {
    let runs = rows.into_iter().map(|held| Run::from([held]));
    deliver(runner, runs.collect(), most).await;
}

/// Delivers the next rows of each run, at most `most` in one call; a suspect is delivered alone.
async fn deliver(runner: &Runner, runs: Vec<Run>, most: usize) {
    let starts_with_suspect = |run: &Run| run.front().is_some_and(|held| is_suspect(&held.row));
    let (suspects, runs): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(starts_with_suspect);
    deliver_ordinary(runner, runs, most).await;
    deliver_suspects(runner, suspects).await;
}

/// Delivers runs that do not start with a suspect. While the lane is on trial, one row is delivered alone first.
async fn deliver_ordinary(runner: &Runner, mut runs: Vec<Run>, most: usize) {
    if runner.state.is_on_trial() {
        let _only = suspect::only_in_lane(runner).await;
        // The previous row may have ended the trial.
        if runner.state.is_on_trial() && !runs.is_empty() {
            let others = runs.split_off(1);
            deliver_call(runner, runs, 1).await;
            runs = others;
        }
    }
    if !runs.is_empty() {
        let _among = suspect::among(runner).await;
        deliver_call(runner, runs, most).await;
    }
}

/// Delivers each suspect alone, or puts it off at no cost. It is the first row of its run.
async fn deliver_suspects(runner: &Runner, runs: Vec<Run>) {
    let mut later = Call::default();
    for mut run in runs {
        let Some(first) = run.pop_front() else { continue };
        match suspect::alone(runner, &first.row).await {
            Ok(alone) => {
                run.push_front(first);
                alone.run(runner, deliver_call(runner, vec![run], 1)).await;
            }
            Err(outcome) => later.add_failed(first, outcome, run),
        }
    }
    if !later.is_empty() {
        suspect::put_off(runner).await;
        later.deliver(runner).await;
    }
}

/// Delivers the next rows of each run in one call.
async fn deliver_call(runner: &Runner, runs: Vec<Run>, most: usize) {
    runs::call(runner, runs, most).await.deliver(runner).await;
}
