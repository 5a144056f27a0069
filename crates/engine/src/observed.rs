//! Metrics decorators for store and transport: metrics are recorded here, so that no backend instruments itself.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use metrics::{Counter, Histogram};
use postrider_contract::{Contract, Transition};
use postrider_seams::handoff::{Offer, Taken};
use postrider_seams::store::{Capabilities, Class, Error, Held, Reclaimed, Settlement, SweepKind};
use postrider_seams::{
    Claimed, Envelope, Fields, Handoff, Lease, Outcome, RowId, Store, Transport, Want, transport,
};
use tokio::time::Instant;

use crate::aliases::Aliases;
use crate::questions::Questions;

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
    aliases: Aliases,
    questions: Arc<Questions>,
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
            aliases: Aliases::new(lane, contract),
            lane: lane.to_owned(),
            inner,
            questions: Arc::default(),
        }
    }

    /// Registers pending calls in `questions`, where the watchdog reads them.
    pub fn counting(self, questions: Arc<Questions>) -> Self {
        Self { questions, ..self }
    }

    fn came(&self, rows: &[Claimed]) {
        self.claimed.increment(rows.len() as u64);
        // The longest wait of the batch shows how late the lane is, at a cost that does not grow with the batch.
        if let Some(longest) = rows.iter().map(|row| row.waited_micros).max() {
            self.waited.record(Duration::from_micros(u64::try_from(longest).unwrap_or(0)));
        }
    }

    /// Returns the store's handoff; an error if the store was not opened for a lane with a queue.
    fn handing(&self) -> Result<&dyn Handoff, Error> {
        let none = || Error::new(Class::Misconfigured, "this store hands nothing to a queue");
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

    async fn claim(&self, want: &Want) -> Result<Vec<Claimed>, Error> {
        let _question = self.questions.ask("claim");
        let started = Instant::now();
        let result = self.inner.claim(want).await;
        self.claim_seconds.record(started.elapsed());
        self.aliases.polled(started.elapsed());
        if let Ok(rows) = &result {
            self.came(rows);
        }
        self.failed("claim", result)
    }

    async fn load(&self, leases: &[Lease]) -> Result<Vec<Option<Fields>>, Error> {
        let _question = self.questions.ask("load");
        self.failed("load", self.inner.load(leases).await)
    }

    async fn begin(&self, begun: &[Lease], others: &[Lease]) -> Result<Vec<Held>, Error> {
        let _question = self.questions.ask("begin");
        let started = Instant::now();
        let result = self.inner.begin(begun, others).await;
        self.begin_seconds.record(started.elapsed());
        self.failed("begin", result)
    }

    async fn settle(&self, moves: &[Settlement]) -> Result<Vec<Held>, Error> {
        let _question = self.questions.ask("settle");
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
                        settlement.transition == *transition && **answer == Held::Held
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
        let _question = self.questions.ask("extend");
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

    async fn release_unheld(&self, held: &[Lease]) -> Result<u64, Error> {
        let _question = self.questions.ask("release");
        let result = self.inner.release_unheld(held).await;
        if let Ok(rows) = &result {
            self.rows("postrider_rows_reclaimed_total", "unanswered", *rows);
        }
        self.failed("release_unheld", result)
    }

    async fn sweep(&self, sweep: SweepKind, limit: u32) -> Result<u64, Error> {
        let result = self.inner.sweep(sweep, limit).await;
        if let Ok(rows) = &result {
            let to = if sweep == SweepKind::Spent { "dead" } else { "contract" };
            self.rows("postrider_rows_swept_total", to, *rows);
            if sweep == SweepKind::Spent {
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
        let _question = self.questions.ask("look ahead");
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
    fn keeps_rows(&self) -> bool {
        self.inner.handoff().is_some_and(Handoff::keeps_rows)
    }

    async fn claim_named(&self, rows: &[RowId]) -> Result<Taken, Error> {
        let _question = self.questions.ask("claim");
        let started = Instant::now();
        let result = self.handing()?.claim_named(rows).await;
        self.claim_seconds.record(started.elapsed());
        if let Ok(taken) = &result {
            self.came(&taken.rows);
        }
        self.failed("claim", result)
    }

    async fn claim_kept(&self, limit: u32) -> Result<Vec<Claimed>, Error> {
        let _question = self.questions.ask("claim");
        let started = Instant::now();
        let result = self.handing()?.claim_kept(limit).await;
        self.claim_seconds.record(started.elapsed());
        self.aliases.polled(started.elapsed());
        if let Ok(rows) = &result {
            self.came(rows);
        }
        self.failed("claim", result)
    }

    async fn offer(&self, offer: Offer, limit: u32) -> Result<Vec<RowId>, Error> {
        self.failed("offer", self.handing()?.offer(offer, limit).await)
    }

    async fn recall(&self, rows: &[RowId]) -> Result<u64, Error> {
        self.failed("recall", self.handing()?.recall(rows).await)
    }
}

/// Counts and times the calls of a lane to its transport.
pub(crate) struct ObservedTransport {
    inner: Arc<dyn Transport>,
    seconds: Histogram,
    outcomes: [(&'static str, Counter); 7],
}

impl ObservedTransport {
    /// Wraps a transport and registers its metrics with the label `lane`.
    pub fn new(lane: &str, inner: Arc<dyn Transport>) -> Self {
        let counter = |outcome: &'static str| {
            let counter = metrics::counter!("postrider_deliveries_total", "lane" => lane.to_owned(), "outcome" => outcome);
            (outcome, counter)
        };
        Self {
            inner,
            seconds: metrics::histogram!("postrider_deliver_seconds", "lane" => lane.to_owned()),
            outcomes: [
                counter("delivered"),
                counter("retryable"),
                counter("rejected"),
                counter("skipped"),
                counter("deferred"),
                counter("refused"),
                counter("uncertain"),
            ],
        }
    }
}

#[async_trait]
impl Transport for ObservedTransport {
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
        let started = Instant::now();
        let outcomes = self.inner.deliver(batch, deadline).await;
        self.seconds.record(started.elapsed());
        let mut counts = [0u64; 7];
        for outcome in &outcomes {
            counts[index(outcome)] += 1;
        }
        for ((_, counter), count) in self.outcomes.iter().zip(counts).filter(|(_, count)| *count > 0) {
            counter.increment(count);
        }
        outcomes
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        self.inner.probe().await
    }
}

/// Returns the index of an outcome's counter in `ObservedTransport::outcomes`.
fn index(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Delivered(_) => 0,
        Outcome::Retryable(_) => 1,
        Outcome::Rejected(_) => 2,
        Outcome::Skipped(_) => 3,
        Outcome::Deferred(_) => 4,
        Outcome::Refused(_) => 5,
        Outcome::Uncertain(_) => 6,
    }
}
