//! Settles outcomes in batches. While the store is away, outcomes are kept and retried: the outcome of a delivered row
//! is never forgotten while the process lives. Those that the database refuses go to `refused.rs`, so that they do not
//! stop the others.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::Lease;
use postrider_seams::store::{self, Class, LeaseResult, Settlement};

use crate::outcomes::DecidedRow;
use crate::refused::Form;
use crate::runner::Runner;

/// Wait for more outcomes of a burst: long enough to fill batches, too short to add noticeable latency.
const LINGER: Duration = Duration::from_millis(3);

/// Settles until the lane has drained.
pub(crate) async fn run(runner: Arc<Runner>) {
    while let Some(decided) = runner.outcomes.take(LINGER, || runner.round_trip.is_distant()).await {
        settle(&runner, decided).await;
    }
}

/// Settles whole batches in addition to the settlers while the database is distant. With a near database more settles
/// at once would only make the batches smaller.
pub(crate) async fn assist(runner: Arc<Runner>) {
    while let Some(decided) = runner.outcomes.take_full(|| runner.round_trip.is_distant()).await {
        settle(&runner, decided).await;
    }
}

/// Settles all outcomes, with as many retries as needed while the store is away: forgetting them would send the messages
/// again. What the database refuses is kept apart.
async fn settle(runner: &Runner, decided: Vec<DecidedRow>) {
    let mut failures = 0;
    let (refused, error) = loop {
        let batch = decided.iter().map(|one| (one, Form::Whole)).collect();
        match try_settle(runner, batch).await {
            Ok(refused) => break (refused, None),
            Err(error) if error.class == Class::Permanent => break (vec![true; decided.len()], Some(error)),
            Err(error) => {
                failures += 1;
                let wait = runner.store_failed(&error, failures);
                tracing::warn!(lane = runner.state.name, %error, rows = decided.len(), "settle failed; the outcomes are kept");
                tokio::time::sleep(wait).await;
            }
        }
    };
    if error.is_none() {
        runner.store_is_back();
    }
    let mut kept = Vec::new();
    for (mut one, refused) in decided.into_iter().zip(refused) {
        if !refused {
            schedule(runner, &one);
        } else if one.transition == Transition::Released {
            give_up(runner, &one);
        } else {
            close_behind(runner, &mut one);
            kept.push(one);
        }
    }
    if !kept.is_empty() {
        let error_text = error.as_ref().map(tracing::field::display);
        tracing::error!(
            lane = runner.state.name,
            error = error_text,
            rows = kept.len(),
            "the database refuses outcomes; they are kept and tried again"
        );
        runner.refused.keep(kept, error.as_ref());
    }
}

/// Schedules the retry of a settled row on a lane with a queue.
pub(crate) fn schedule(runner: &Runner, decided: &DecidedRow) {
    if runner.lane.queue.is_some() && decided.comes_again() {
        runner.retry_timer.falls_due(decided.delay);
    }
}

/// Settles each outcome in its form, and returns for each whether the database refused it. Closes the leases of the
/// others.
pub(crate) async fn try_settle(
    runner: &Runner,
    batch: Vec<(&DecidedRow, Form)>,
) -> Result<Vec<bool>, store::Error> {
    // The gate excludes extensions, so the fences read here are the rows' current ones.
    let _gate = runner.gate.read().await;
    let mut moves: Vec<Settlement> = Vec::with_capacity(batch.len());
    // The outcome that each move belongs to.
    let mut owners: Vec<usize> = Vec::with_capacity(batch.len());
    let mut lost = 0;
    for (at, (decided, form)) in batch.iter().enumerate() {
        lost += u64::from(!decided.lease.is_held());
        moves.extend(decided.settlements().into_iter().map(|settlement| form.of(settlement)));
        owners.resize(moves.len(), at);
    }
    let mut answers = Vec::new();
    if !moves.is_empty() {
        answers = runner.store.settle(&moves).await?;
    }
    count(runner, &moves, &answers, lost);
    // A row that was never tried has no outcome to keep: it is left to its lease as well.
    let is_left = |settlement: &Settlement, answer: LeaseResult| match answer {
        LeaseResult::Held => false,
        LeaseResult::Lost => true,
        LeaseResult::Refused => settlement.transition == Transition::Released,
    };
    let left = moves.iter().zip(&answers).filter(|(settlement, answer)| is_left(settlement, **answer));
    runner.gave_up(left.map(|(settlement, _)| &settlement.lease));
    let mut refused = vec![false; batch.len()];
    for ((at, settlement), answer) in owners.into_iter().zip(&moves).zip(&answers) {
        match answer {
            LeaseResult::Held => runner.refused.accepted(settlement.transition),
            LeaseResult::Refused if !is_left(settlement, *answer) => refused[at] = true,
            LeaseResult::Refused | LeaseResult::Lost => {}
        }
    }
    // Still under the gate: an extension must not find leases of settled rows.
    let settled =
        batch.iter().zip(&refused).filter(|(_, refused)| !**refused).map(|((decided, _), _)| *decided);
    done(runner, settled);
    Ok(refused)
}

/// Leaves a row to its lease.
pub(crate) fn give_up(runner: &Runner, decided: &DecidedRow) {
    let leases: Vec<Lease> = decided.settlements().into_iter().map(|settlement| settlement.lease).collect();
    runner.gave_up(leases.iter());
    done(runner, std::iter::once(decided));
}

/// Closes the leases of the rows behind a refused one: the store has released them.
fn close_behind(runner: &Runner, decided: &mut DecidedRow) {
    let behind = std::mem::take(&mut decided.behind);
    let rows = behind.into_iter().map(DecidedRow::released).collect::<Vec<_>>();
    done(runner, rows.iter());
}

fn count(runner: &Runner, moves: &[Settlement], answers: &[LeaseResult], lost_before: u64) {
    let counters = &runner.state.counters;
    let (mut delivered, mut retried, mut failed, mut lost) = (0, 0, 0, lost_before);
    for (settlement, answer) in moves.iter().zip(answers) {
        match (answer, settlement.transition) {
            (LeaseResult::Lost, _) => lost += 1,
            (LeaseResult::Held, Transition::Delivered) => delivered += 1,
            (LeaseResult::Held, Transition::Retry) => retried += 1,
            (LeaseResult::Held, transition) if transition.is_failure() => failed += 1,
            (LeaseResult::Held | LeaseResult::Refused, _) => {}
        }
    }
    counters.delivered.fetch_add(delivered, Relaxed);
    counters.retried.fetch_add(retried, Relaxed);
    counters.failed.fetch_add(failed, Relaxed);
    counters.lost.fetch_add(lost, Relaxed);
    if lost > 0 {
        metrics::counter!("postrider_leases_lost_total", "lane" => runner.state.name.clone()).increment(lost);
        tracing::warn!(
            lane = runner.state.name,
            rows = lost,
            "leases were lost before their rows were settled"
        );
    }
}

/// Closes the leases of settled rows and frees their room.
fn done<'a>(runner: &Runner, batch: impl Iterator<Item = &'a DecidedRow>) {
    let (mut over, mut rows) = (0, 0);
    for decided in batch {
        over += usize::from(decided.close());
        rows += decided.rows();
    }
    runner.state.counters.held.fetch_sub(rows as u64, Relaxed);
    runner.note_progress();
    runner.room.freed();
    if over > 0 {
        runner.freed.notify_one();
    }
}

#[cfg(test)]
mod tests;
