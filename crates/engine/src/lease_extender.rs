//! The lease extender: extends the leases of rows that take long, from claim to settle, also during a drain.

use std::sync::Arc;
use std::time::Duration;

use postrider_seams::{Lease, store};
use tokio::time::Instant;

use crate::batch::Batch;
use crate::runner::Runner;

/// Rows per statement.
const CHUNK: usize = 500;

pub(crate) async fn run(runner: Arc<Runner>) {
    let facts = runner.store.capabilities();
    let tick = (facts.extend_every / 4).clamp(Duration::from_millis(20), Duration::from_secs(5));
    loop {
        tokio::time::sleep(tick).await;
        // Leases older than `extend_every` are extended; most rows are settled before that.
        let horizon = Instant::now() + facts.lease.saturating_sub(facts.extend_every);
        let old: Vec<_> = runner.kept().into_iter().filter(|batch| batch.runs_out() <= horizon).collect();
        for batch in old {
            if let Err(error) = extend(&runner, &batch, facts.lease).await {
                runner.store_failed(&error, 1);
                tracing::warn!(lane = runner.state.name, %error, "leases could not be prolonged; trying again");
                break;
            }
        }
    }
}

async fn extend(runner: &Runner, batch: &Batch, lease: Duration) -> Result<(), store::Error> {
    // No settle may be in flight: it would use a fence that is about to change.
    let _gate = runner.gate.write().await;
    let asked = Instant::now();
    let held = batch.leases();
    let mut answers = Vec::with_capacity(held.len());
    for chunk in held.chunks(CHUNK) {
        let leases: Vec<_> = chunk.iter().map(|(_, lease)| lease.clone()).collect();
        let prolonged = runner.store.extend(&leases).await?;
        answers.extend(chunk.iter().map(|(slot, _)| *slot).zip(prolonged));
    }
    let lost = answers.iter().filter(|(_, lease)| lease.is_none()).count();
    if lost > 0 {
        let is_lost = |(_, (_, answer)): &(_, &(usize, Option<Lease>))| answer.is_none();
        runner.gave_up(held.iter().zip(&answers).filter(is_lost).map(|((_, lease), _)| lease));
        tracing::warn!(
            lane = runner.state.name,
            rows = lost,
            "leases were lost before they could be prolonged"
        );
    }
    batch.extended(answers, asked + lease);
    // An extension may change the fence: the marks of begun rows must be written again. The gate excludes other marks.
    if batch.begun().is_empty() {
        return Ok(());
    }
    runner.store.begin(&[], &runner.begun()).await.map(|_| ())
}
