//! The lease extender: extends the leases of rows that take long, from claim to settle, also during a drain.

use std::sync::Arc;
use std::time::Duration;

use postrider_seams::Lease;
use postrider_seams::store;

use crate::batch::Batch;
use crate::boot_instant::BootInstant;
use crate::runner::Runner;

/// The number of single rows that may fail before the others of their batch wait for the next round.
const MOST_FAILURES: usize = 3;

pub(crate) async fn run(runner: Arc<Runner>) {
    let facts = runner.store.capabilities();
    let tick = (facts.extend_every / 4).clamp(Duration::from_millis(20), Duration::from_secs(5));
    loop {
        tokio::time::sleep(tick).await;
        // Leases older than `extend_every` are extended; most rows are settled before that.
        let horizon = facts.lease.saturating_sub(facts.extend_every);
        let old: Vec<_> =
            runner.open_batches().into_iter().filter(|batch| batch.time_left() <= horizon).collect();
        for batch in old {
            // The next batch is extended nevertheless: another session may hold a row of this one locked.
            if let Err(error) = extend(&runner, &batch, facts.lease).await {
                runner.store_failed(&error, 1);
                tracing::warn!(lane = runner.state.name, %error, "leases could not be extended; trying again");
            }
        }
    }
}

/// Extends the leases of a batch, in calls of the size that the store handles at once. If one of them fails, its rows are
/// extended one by one: another session may hold a row locked, and the others must not lose their leases with it.
async fn extend(runner: &Runner, batch: &Batch, lease: Duration) -> Result<(), store::Error> {
    let asked = BootInstant::now();
    let slots: Vec<usize> = batch.leases().into_iter().map(|(slot, _)| slot).collect();
    let (mut failures, mut failed) = (0, None);
    for part in slots.chunks(runner.store.capabilities().settle_batch.max(1)) {
        let Err(error) = extend_part(runner, batch, part).await else { continue };
        if part.len() == 1 {
            failures += 1;
            failed.get_or_insert(error);
            continue;
        }
        for slot in part.chunks(1) {
            if failures >= MOST_FAILURES {
                break;
            }
            if let Err(error) = extend_part(runner, batch, slot).await {
                failures += 1;
                failed.get_or_insert(error);
            }
        }
    }
    if failed.is_none() {
        batch.extended_until(asked + lease);
    }
    // An extension may change the fence: the marks of begun rows must be written again. The gate excludes other marks.
    if !batch.begun().is_empty() {
        let _gate = runner.gate.write().await;
        runner.store.begin(&[], &runner.begun()).await?;
    }
    failed.map_or(Ok(()), Err)
}

/// Extends the leases in some slots of a batch. The answer is taken over as it comes: its rows may have new fences,
/// whatever becomes of other calls.
async fn extend_part(runner: &Runner, batch: &Batch, slots: &[usize]) -> Result<(), store::Error> {
    // No settle may be in flight: it would use a fence that is about to change.
    let _gate = runner.gate.write().await;
    let held: Vec<(usize, Lease)> =
        batch.leases().into_iter().filter(|(slot, _)| slots.binary_search(slot).is_ok()).collect();
    if held.is_empty() {
        return Ok(());
    }
    let leases: Vec<Lease> = held.iter().map(|(_, lease)| lease.clone()).collect();
    let extended = runner.store.extend(&leases).await?;
    take_over(runner, batch, &held, extended);
    Ok(())
}

fn take_over(runner: &Runner, batch: &Batch, part: &[(usize, Lease)], extended: Vec<Option<Lease>>) {
    let lost: Vec<&Lease> = part
        .iter()
        .zip(&extended)
        .filter(|(_, extended)| extended.is_none())
        .map(|((_, lease), _)| lease)
        .collect();
    if !lost.is_empty() {
        tracing::warn!(
            lane = runner.state.name,
            rows = lost.len(),
            "leases were lost before they could be extended"
        );
        runner.gave_up(lost.into_iter());
    }
    batch.extended(part.iter().map(|(slot, _)| *slot).zip(extended));
}
