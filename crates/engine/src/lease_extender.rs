//! The lease extender: extends the leases of rows that take long, from claim to settle, also during a drain.

use std::sync::Arc;
use std::time::Duration;

use postrider_seams::Lease;
use postrider_seams::store::{self, Class};

use crate::batch::Batch;
use crate::boot_instant::BootInstant;
use crate::runner::Runner;

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
            if let Err(error) = extend(&runner, &batch, facts.lease).await {
                runner.store_failed(&error, 1);
                tracing::warn!(lane = runner.state.name, %error, "leases could not be extended; trying again");
                break;
            }
        }
    }
}

/// Extends the leases of a batch, in calls of the size that the store handles at once. The answer to each call is taken
/// over as it comes: its rows may have new fences, whatever becomes of the other calls.
async fn extend(runner: &Runner, batch: &Batch, lease: Duration) -> Result<(), store::Error> {
    // No settle may be in flight: it would use a fence that is about to change.
    let _gate = runner.gate.write().await;
    let asked = BootInstant::now();
    let held = batch.leases();
    let mut failed = None;
    for part in held.chunks(runner.store.capabilities().settle_batch.max(1)) {
        let leases: Vec<Lease> = part.iter().map(|(_, lease)| lease.clone()).collect();
        match runner.store.extend(&leases).await {
            Ok(extended) => take_over(runner, batch, part, extended),
            Err(error) => {
                let is_away = error.class == Class::Transient;
                failed.get_or_insert(error);
                if is_away {
                    break;
                }
            }
        }
    }
    if failed.is_none() {
        batch.extended_until(asked + lease);
    }
    // An extension may change the fence: the marks of begun rows must be written again. The gate excludes other marks.
    if !batch.begun().is_empty() {
        runner.store.begin(&[], &runner.begun()).await?;
    }
    failed.map_or(Ok(()), Err)
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
