//! A target with the faults of a relay: slow answers, errors, or no answer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::{
    ClaimedRow, Composer, Content, Envelope, Failure, Outcome, Receipt, Transport, transport,
};
use tokio::time::Instant;

use super::journal::Event;
use super::store::SimState;
use super::worker_life::WorkerLife;

/// One worker's connection to the target.
pub(crate) struct FaultyTarget {
    pub shared: Arc<SimState>,
    pub life: Arc<WorkerLife>,
}

impl FaultyTarget {
    fn faulty(&self) -> bool {
        self.shared.faulty.load(Relaxed)
    }

    async fn network_delay(&self, max: Duration) {
        self.life.network_delay(self.shared.random.wait(max)).await;
    }

    fn answer(&self, row: &str) -> Outcome {
        let take = || self.shared.journal.record(Event::Accepted { row: row.to_owned() });
        let failure = Failure::new("said the target");
        if !self.faulty() {
            take();
            return Outcome::Delivered(Receipt::default());
        }
        match self.shared.random.below(100) {
            0..20 => Outcome::Retryable(failure),
            20..24 => Outcome::Retryable(Failure { unreachable: true, ..failure }),
            24..27 => Outcome::Rejected(failure),
            27..29 => Outcome::Skipped(failure),
            29..33 => Outcome::Deferred(Failure { after: Some(Duration::from_secs(45)), ..failure }),
            33..34 => Outcome::Refused(failure),
            code @ 34..40 => {
                if code % 2 == 0 {
                    take();
                }
                self.shared.journal.record(Event::Unanswered { row: row.to_owned() });
                Outcome::Uncertain(failure)
            }
            _ => {
                take();
                Outcome::Delivered(Receipt::default())
            }
        }
    }
}

impl FaultyTarget {
    /// Records the end of a row if this attempt was its last and failed.
    fn record_end(&self, envelope: &Envelope, outcome: &Outcome) {
        let last = match outcome {
            Outcome::Rejected(_) | Outcome::Skipped(_) => true,
            Outcome::Retryable(_) | Outcome::Uncertain(_) => {
                envelope.attempt >= self.shared.subject.stage().attempts.max
            }
            Outcome::Delivered(_) | Outcome::Deferred(_) | Outcome::Refused(_) => false,
        };
        if last {
            self.shared.journal.record(Event::FinallyRejected { row: envelope.row.clone() });
        }
    }
}

#[async_trait]
impl Transport for FaultyTarget {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(4, 4).keeping_order(self.shared.pipelined)
    }

    async fn deliver(&self, batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(batch.len());
        let mut held: BTreeSet<&str> = BTreeSet::new();
        for envelope in batch {
            let group = self.shared.order.place(&envelope.row).map(|place| place.group.as_str());
            if group.is_some_and(|group| held.contains(group)) {
                outcomes.push(Outcome::Deferred(Failure::new("behind one that failed")));
                continue;
            }
            self.network_delay(Duration::from_secs(6)).await;
            let outcome = self.answer(&envelope.row);
            self.record_end(envelope, &outcome);
            if !matches!(outcome, Outcome::Delivered(_)) {
                held.extend(group);
            }
            outcomes.push(outcome);
            if self.faulty() && self.shared.random.once_in(60) {
                // The worker dies after the message was sent and before its outcome is recorded.
                self.life.kill();
            }
        }
        self.network_delay(Duration::from_millis(100)).await;
        outcomes
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        self.network_delay(Duration::from_millis(100)).await;
        if self.faulty() && self.shared.random.once_in(3) {
            return Err(transport::Error::Unreachable("still away".to_owned()));
        }
        Ok(())
    }
}

/// A composer that accepts every row.
pub(crate) struct AcceptAllComposer;

#[async_trait]
impl Composer for AcceptAllComposer {
    async fn compose(&self, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
        let envelope = |row: &ClaimedRow| Envelope {
            row: row.lease.id.to_string(),
            dedupe: row.lease.id.to_string(),
            attempt: row.counters.attempts + 1,
            lease: postrider_seams::LeaseCheck::default(),
            content: Content::Nothing,
            detail: std::collections::BTreeMap::default(),
        };
        rows.iter().map(|row| Ok(envelope(row))).collect()
    }

    fn size_limit(&self) -> u64 {
        u64::MAX
    }
}
