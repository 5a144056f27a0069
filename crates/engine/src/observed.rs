//! Metrics decorators for store and transport: metrics are recorded here, so that no backend instruments itself.

mod metric_aliases;
mod pending_calls;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use metrics::{Counter, Histogram};
use postrider_contract::{Contract, Transition};
use postrider_seams::handoff::{PointerClaims, PublishSource};
use postrider_seams::store::{Capabilities, Class, Error, LeaseResult, Reclaimed, Settlement, SweepKind};
use postrider_seams::{ClaimedRow, Fields, Handoff, Lease, RowId, Store};
use tokio::time::Instant;

use self::metric_aliases::MetricAliases;
pub(crate) use self::pending_calls::PendingCalls;
pub(crate) use self::transport::ObservedTransport;

/// Counts and times the calls of a lane to its store.
pub(crate) struct ObservedStore {
    lane: String,
    inner: Arc<dyn Store>,
    claimed: Counter,
    waited: Histogram,
    claim_seconds: Histogram,
    begin_seconds: Histogram,
    settle_seconds: Histogram,
    settled: Vec<(Transition, Counter)>,
    aliases: MetricAliases,
    pending_calls: Arc<PendingCalls>,
}

impl ObservedStore {
    /// Wraps a store and registers its metrics with the label `lane`.
    pub fn new(lane: &str, contract: &Contract, inner: Arc<dyn Store>) -> Self {
        let seconds = |verb: &'static str| metrics::histogram!("postrider_store_seconds", "lane" => lane.to_owned(), "verb" => verb);
        let settled = Transition::SETTLES
            .into_iter()
            .map(|transition| {
                let name = transition.name();
                let counter =
                    metrics::counter!("postrider_rows_settled_total", "lane" => lane.to_owned(), "transition" => name);
                (transition, counter)
            })
            .collect();
        rare(lane, contract);
        Self {
            claimed: metrics::counter!("postrider_rows_claimed_total", "lane" => lane.to_owned()),
            waited: metrics::histogram!("postrider_row_wait_seconds", "lane" => lane.to_owned()),
            claim_seconds: seconds("claim"),
            begin_seconds: seconds("begin"),
            settle_seconds: seconds("settle"),
            settled,
            aliases: MetricAliases::new(lane, contract),
            lane: lane.to_owned(),
            inner,
            pending_calls: Arc::default(),
        }
    }

    /// Registers pending calls in `pending_calls`, where the watchdog reads them.
    pub fn counting(self, pending_calls: Arc<PendingCalls>) -> Self {
        Self { pending_calls, ..self }
    }

    fn came(&self, rows: &[ClaimedRow]) {
        self.claimed.increment(rows.len() as u64);
        // The longest wait of the batch shows how late the lane is, at a cost that does not grow with the batch.
        if let Some(longest) = rows.iter().map(|row| row.waited_micros).max() {
            self.waited.record(Duration::from_micros(u64::try_from(longest).unwrap_or(0)));
        }
    }

    /// Returns the store's handoff; an error if the store was not opened for a lane with a queue.
    fn handoff_or_error(&self) -> Result<&dyn Handoff, Error> {
        let none = || Error::new(Class::Misconfigured, "this store was opened without an external queue");
        self.inner.handoff().ok_or_else(none)
    }

    fn failed<T>(&self, verb: &'static str, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &result {
            let class = match error.class {
                Class::Transient => "transient",
                Class::Permanent => "permanent",
                Class::Misconfigured => "misconfigured",
            };
            metrics::counter!(
                "postrider_store_errors_total", "lane" => self.lane.clone(), "verb" => verb, "class" => class
            )
            .increment(1);
        }
        result
    }

    fn rows(&self, name: &'static str, to: &'static str, rows: u64) {
        if rows > 0 {
            metrics::counter!(name, "lane" => self.lane.clone(), "to" => to).increment(rows);
        }
    }
}

/// Registers the counters of rare events at 0, so that rates and alerts over them work from the first event on.
fn rare(lane: &str, contract: &Contract) {
    for to in ["retry", "dead", "free", "unanswered"] {
        metrics::counter!("postrider_rows_reclaimed_total", "lane" => lane.to_owned(), "to" => to)
            .increment(0);
    }
    for to in ["dead", "contract"] {
        metrics::counter!("postrider_rows_swept_total", "lane" => lane.to_owned(), "to" => to).increment(0);
    }
    metrics::counter!("postrider_rows_purged_total", "lane" => lane.to_owned(), "to" => "gone").increment(0);
    metrics::counter!("postrider_leases_lost_total", "lane" => lane.to_owned()).increment(0);
    for verb in ["claim", "settle"] {
        for class in ["transient", "permanent", "misconfigured"] {
            metrics::counter!(
                "postrider_store_errors_total", "lane" => lane.to_owned(), "verb" => verb, "class" => class
            )
            .increment(0);
        }
    }
    if contract.stages.iter().any(|stage| stage.composer == "record") {
        for outcome in ["published", "failed"] {
            metrics::counter!("postrider_dead_letters_total", "lane" => lane.to_owned(), "outcome" => outcome)
                .increment(0);
        }
    }
}

#[async_trait]
impl Store for ObservedStore {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn handoff(&self) -> Option<&dyn Handoff> {
        self.inner.handoff().map(|_| self as &dyn Handoff)
    }

    async fn claim(&self, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        let _pending = self.pending_calls.begin("claim");
        let started = Instant::now();
        let result = self.inner.claim(limit).await;
        self.claim_seconds.record(started.elapsed());
        self.aliases.polled(started.elapsed());
        if let Ok(rows) = &result {
            self.came(rows);
        }
        self.failed("claim", result)
    }

    async fn load(&self, leases: &[Lease]) -> Result<Vec<Option<Fields>>, Error> {
        let _pending = self.pending_calls.begin("load");
        self.failed("load", self.inner.load(leases).await)
    }

    async fn begin(&self, begun: &[Lease], others: &[Lease]) -> Result<Vec<LeaseResult>, Error> {
        let _pending = self.pending_calls.begin("begin");
        let started = Instant::now();
        let result = self.inner.begin(begun, others).await;
        self.begin_seconds.record(started.elapsed());
        self.failed("begin", result)
    }

    async fn settle(&self, moves: &[Settlement]) -> Result<Vec<LeaseResult>, Error> {
        let _pending = self.pending_calls.begin("settle");
        let started = Instant::now();
        let result = self.inner.settle(moves).await;
        self.settle_seconds.record(started.elapsed());
        if let Ok(answers) = &result {
            self.aliases.settled(moves, answers);
            for (transition, counter) in &self.settled {
                let held = moves
                    .iter()
                    .zip(answers)
                    .filter(|(settlement, answer)| {
                        settlement.transition == *transition && **answer == LeaseResult::Held
                    })
                    .count();
                if held > 0 {
                    counter.increment(held as u64);
                }
            }
        }
        self.failed("settle", result)
    }

    async fn extend(&self, leases: &[Lease]) -> Result<Vec<Option<Lease>>, Error> {
        let _pending = self.pending_calls.begin("extend");
        self.failed("extend", self.inner.extend(leases).await)
    }

    async fn reclaim(&self, limit: u32) -> Result<Reclaimed, Error> {
        let result = self.inner.reclaim(limit).await;
        if let Ok(reclaimed) = &result {
            self.aliases.reclaimed(reclaimed);
            self.rows("postrider_rows_reclaimed_total", "retry", reclaimed.retried);
            self.rows("postrider_rows_reclaimed_total", "dead", reclaimed.dead);
            self.rows("postrider_rows_reclaimed_total", "free", reclaimed.free);
        }
        self.failed("reclaim", result)
    }

    async fn release_lost_claims(&self, held: &[Lease]) -> Result<u64, Error> {
        let _pending = self.pending_calls.begin("release_lost_claims");
        let result = self.inner.release_lost_claims(held).await;
        if let Ok(rows) = &result {
            self.rows("postrider_rows_reclaimed_total", "unanswered", *rows);
        }
        self.failed("release_lost_claims", result)
    }

    async fn sweep(&self, sweep: SweepKind, limit: u32) -> Result<u64, Error> {
        let result = self.inner.sweep(sweep, limit).await;
        if let Ok(rows) = &result {
            let to = if sweep == SweepKind::Exhausted { "dead" } else { "contract" };
            self.rows("postrider_rows_swept_total", to, *rows);
            if sweep == SweepKind::Exhausted {
                self.aliases.spent(*rows);
            }
        }
        self.failed("sweep", result)
    }

    async fn purge(&self, limit: u32) -> Result<u64, Error> {
        let result = self.inner.purge(limit).await;
        if let Ok(rows) = &result {
            self.rows("postrider_rows_purged_total", "gone", *rows);
        }
        self.failed("purge", result)
    }

    async fn next_due(&self) -> Result<Option<Duration>, Error> {
        let _pending = self.pending_calls.begin("next_due");
        self.failed("next_due", self.inner.next_due().await)
    }

    async fn wake(&self, deadline: Instant) {
        self.inner.wake(deadline).await;
    }

    async fn lock(&self, name: &str, ttl: Duration) -> Result<bool, Error> {
        self.failed("lock", self.inner.lock(name, ttl).await)
    }

    async fn unlock(&self, name: &str) -> Result<(), Error> {
        self.failed("unlock", self.inner.unlock(name).await)
    }

    async fn paused(&self, lane: &str) -> Result<bool, Error> {
        self.failed("paused", self.inner.paused(lane).await)
    }

    async fn set_paused(&self, lane: &str, paused: bool) -> Result<(), Error> {
        self.failed("set_paused", self.inner.set_paused(lane, paused).await)
    }
}

#[async_trait]
impl Handoff for ObservedStore {
    fn may_have_unqueueable_rows(&self) -> bool {
        self.inner.handoff().is_some_and(Handoff::may_have_unqueueable_rows)
    }

    async fn claim_by_id(&self, rows: &[RowId]) -> Result<PointerClaims, Error> {
        let _pending = self.pending_calls.begin("claim");
        let started = Instant::now();
        let result = self.handoff_or_error()?.claim_by_id(rows).await;
        self.claim_seconds.record(started.elapsed());
        if let Ok(taken) = &result {
            self.came(&taken.rows);
        }
        self.failed("claim", result)
    }

    async fn claim_unqueueable(&self, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        let _pending = self.pending_calls.begin("claim");
        let started = Instant::now();
        let result = self.handoff_or_error()?.claim_unqueueable(limit).await;
        self.claim_seconds.record(started.elapsed());
        self.aliases.polled(started.elapsed());
        if let Ok(rows) = &result {
            self.came(rows);
        }
        self.failed("claim", result)
    }

    async fn mark_published(&self, source: PublishSource, limit: u32) -> Result<Vec<RowId>, Error> {
        self.failed("mark_published", self.handoff_or_error()?.mark_published(source, limit).await)
    }

    async fn recall(&self, rows: &[RowId]) -> Result<u64, Error> {
        self.failed("recall", self.handoff_or_error()?.recall(rows).await)
    }
}
