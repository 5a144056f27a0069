//! Decorators for store, composer and transport: each forwards to the inner one and records the times.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::handoff::{PointerClaims, PublishSource};
use postrider_seams::store::{Capabilities, Class, Error, LeaseResult, Reclaimed, Settlement, SweepKind};
use postrider_seams::{
    ClaimedRow, Composer, Envelope, Fields, Handoff, Lease, Outcome, RowId, Store, Transport, transport,
};
use tokio::time::Instant;

use super::trace::LaneTraces;
use crate::exporter::Exporter;

/// The store, composer and transport of a lane.
pub struct LaneParts {
    pub store: Arc<dyn Store>,
    pub composer: Arc<dyn Composer>,
    pub transport: Arc<dyn Transport>,
}

/// Wraps the store, composer and transport of a lane so that their calls are traced.
pub fn observe(exporter: &Arc<Exporter>, lane: &str, contract: &str, seams: LaneParts) -> LaneParts {
    let traces = Arc::new(LaneTraces::new(lane, contract, Arc::clone(exporter)));
    LaneParts {
        store: Arc::new(TracedStore { inner: seams.store, traces: Arc::clone(&traces) }),
        composer: Arc::new(TracedComposer { inner: seams.composer, traces: Arc::clone(&traces) }),
        transport: Arc::new(TracedTransport { inner: seams.transport, traces }),
    }
}

struct TracedStore {
    inner: Arc<dyn Store>,
    traces: Arc<LaneTraces>,
}

impl TracedStore {
    fn handoff_or_error(&self) -> Result<&dyn Handoff, Error> {
        let none = || Error::new(Class::Misconfigured, "this store was opened without an external queue");
        self.inner.handoff().ok_or_else(none)
    }
}

#[async_trait]
impl Store for TracedStore {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn handoff(&self) -> Option<&dyn Handoff> {
        self.inner.handoff().map(|_| self as &dyn Handoff)
    }

    async fn claim(&self, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        let begun = Instant::now();
        let rows = self.inner.claim(limit).await?;
        self.traces.claimed(&rows, (begun, Instant::now()));
        Ok(rows)
    }

    async fn load(&self, leases: &[Lease]) -> Result<Vec<Option<Fields>>, Error> {
        self.inner.load(leases).await
    }

    async fn begin(&self, begun: &[Lease], others: &[Lease]) -> Result<Vec<LeaseResult>, Error> {
        self.inner.begin(begun, others).await
    }

    async fn settle(&self, moves: &[Settlement]) -> Result<Vec<LeaseResult>, Error> {
        let begun = Instant::now();
        let results = self.inner.settle(moves).await?;
        self.traces.settled(moves, &results, (begun, Instant::now()));
        Ok(results)
    }

    async fn extend(&self, leases: &[Lease]) -> Result<Vec<Option<Lease>>, Error> {
        self.inner.extend(leases).await
    }

    async fn reclaim(&self, limit: u32) -> Result<Reclaimed, Error> {
        self.inner.reclaim(limit).await
    }

    async fn release_lost_claims(&self, held: &[Lease]) -> Result<u64, Error> {
        self.inner.release_lost_claims(held).await
    }

    async fn sweep(&self, sweep: SweepKind, limit: u32) -> Result<u64, Error> {
        self.inner.sweep(sweep, limit).await
    }

    async fn purge(&self, limit: u32) -> Result<u64, Error> {
        self.inner.purge(limit).await
    }

    async fn next_due(&self) -> Result<Option<Duration>, Error> {
        self.inner.next_due().await
    }

    async fn wake(&self, deadline: Instant) {
        self.inner.wake(deadline).await;
    }

    async fn lock(&self, name: &str, ttl: Duration) -> Result<bool, Error> {
        self.inner.lock(name, ttl).await
    }

    async fn unlock(&self, name: &str) -> Result<(), Error> {
        self.inner.unlock(name).await
    }

    async fn paused(&self, lane: &str) -> Result<bool, Error> {
        self.inner.paused(lane).await
    }

    async fn set_paused(&self, lane: &str, paused: bool) -> Result<(), Error> {
        self.inner.set_paused(lane, paused).await
    }
}

#[async_trait]
impl Handoff for TracedStore {
    fn may_have_unqueueable_rows(&self) -> bool {
        self.inner.handoff().is_some_and(Handoff::may_have_unqueueable_rows)
    }

    async fn claim_by_id(&self, rows: &[RowId]) -> Result<PointerClaims, Error> {
        let begun = Instant::now();
        let claimed = self.handoff_or_error()?.claim_by_id(rows).await?;
        self.traces.claimed(&claimed.rows, (begun, Instant::now()));
        Ok(claimed)
    }

    async fn claim_unqueueable(&self, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        let begun = Instant::now();
        let rows = self.handoff_or_error()?.claim_unqueueable(limit).await?;
        self.traces.claimed(&rows, (begun, Instant::now()));
        Ok(rows)
    }

    async fn mark_published(&self, source: PublishSource, limit: u32) -> Result<Vec<RowId>, Error> {
        self.handoff_or_error()?.mark_published(source, limit).await
    }

    async fn recall(&self, rows: &[RowId]) -> Result<u64, Error> {
        self.handoff_or_error()?.recall(rows).await
    }
}

struct TracedComposer {
    inner: Arc<dyn Composer>,
    traces: Arc<LaneTraces>,
}

#[async_trait]
impl Composer for TracedComposer {
    async fn compose(&self, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
        let begun = Instant::now();
        let mut compositions = self.inner.compose(rows).await;
        let composed = (begun, Instant::now());
        for (row, compositions) in rows.iter().zip(&mut compositions) {
            self.traces.composed(row, compositions, composed);
        }
        compositions
    }

    fn size_limit(&self) -> u64 {
        self.inner.size_limit()
    }

    async fn recipients(&self, rows: &[&ClaimedRow]) -> Vec<Vec<String>> {
        self.inner.recipients(rows).await
    }

    fn dead_letter(&self, envelope: &Envelope, reason: &str) -> Option<Envelope> {
        self.inner.dead_letter(envelope, reason)
    }
}

struct TracedTransport {
    inner: Arc<dyn Transport>,
    traces: Arc<LaneTraces>,
}

#[async_trait]
impl Transport for TracedTransport {
    fn capabilities(&self) -> transport::Capabilities {
        self.inner.capabilities()
    }

    async fn look_up_claimed(&self, rows: &[transport::Addressed]) {
        self.inner.look_up_claimed(rows).await;
    }

    async fn look_up_missing(&self, batch: &[Envelope]) {
        self.inner.look_up_missing(batch).await;
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let begun = Instant::now();
        let outcomes = self.inner.deliver(batch, deadline).await;
        self.traces.delivered(batch, &outcomes, (begun, Instant::now()));
        outcomes
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        self.inner.probe().await
    }
}
