//! Settles outcomes in batches. While the store is away, outcomes are kept and retried: the outcome of a delivered row
//! is never forgotten while the process lives.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::store::{self, LeaseResult, Settlement};

use crate::outcomes::DecidedRow;
use crate::runner::Runner;

/// Wait for more outcomes of a burst: long enough to fill batches, too short to add noticeable latency.
const LINGER: Duration = Duration::from_millis(3);

/// Settles until the lane has drained.
pub(crate) async fn run(runner: Arc<Runner>) {
    while let Some(decided) = runner.outcomes.take(LINGER).await {
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

/// Settles all outcomes, with as many retries as needed. If the store cannot write a single row, it leaves that row to
/// its lease; an error concerns the whole batch, and forgetting its outcomes would send the messages again.
async fn settle(runner: &Runner, decided: Vec<DecidedRow>) {
    let mut failures = 0;
    while let Err(error) = try_settle(runner, &decided).await {
        failures += 1;
        let wait = runner.store_failed(&error, failures);
        tracing::warn!(lane = runner.state.name, %error, rows = decided.len(), "settle failed; the outcomes are kept");
        tokio::time::sleep(wait).await;
    }
    runner.store_is_back();
    if runner.lane.queue.is_some() {
        let again = decided.iter().filter(|one| one.comes_again());
        again.for_each(|one| runner.retry_timer.falls_due(one.delay));
    }
}

async fn try_settle(runner: &Runner, batch: &[DecidedRow]) -> Result<(), store::Error> {
    // The gate excludes extensions, so the fences read here are the rows' current ones.
    let _gate = runner.gate.read().await;
    let mut moves: Vec<Settlement> = Vec::with_capacity(batch.len());
    let mut lost = 0;
    for decided in batch {
        lost += u64::from(!decided.lease.is_held());
        moves.extend(decided.settlements());
    }
    let mut answers = Vec::new();
    if !moves.is_empty() {
        answers = runner.store.settle(&moves).await?;
    }
    count(runner, &moves, &answers, lost);
    let given_up = moves.iter().zip(&answers).filter(|(_, answer)| **answer == LeaseResult::Lost);
    runner.gave_up(given_up.map(|(settlement, _)| &settlement.lease));
    // Still under the gate: an extension must not find leases of settled rows.
    done(runner, batch);
    Ok(())
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
            (LeaseResult::Held, _) => {}
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
fn done(runner: &Runner, batch: &[DecidedRow]) {
    let over = batch.iter().filter(|decided| decided.close()).count();
    let rows: usize = batch.iter().map(DecidedRow::rows).sum();
    runner.state.counters.held.fetch_sub(rows as u64, Relaxed);
    runner.note_progress();
    runner.room.freed();
    if over > 0 {
        runner.freed.notify_one();
    }
}

#[cfg(test)]
mod tests;
