//! A target with the faults of a relay: slow answers, errors, or no answer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::{
    Claimed, Composer, Content, Envelope, Failure, Outcome, Receipt, Transport, transport,
};
use tokio::time::Instant;

use super::journal::Event;
use super::life::Life;
use super::store::Shared;

/// One worker's connection to the target.
pub(crate) struct Target {
    pub shared: Arc<Shared>,
    pub life: Arc<Life>,
}

impl Target {
    fn rough(&self) -> bool {
        self.shared.rough.load(Relaxed)
    }

    async fn travel(&self, most: Duration) {
        self.life.travel(self.shared.chance.wait(most)).await;
    }

    fn answer(&self, row: &str) -> Outcome {
        let take = || self.shared.journal.note(Event::Taken { row: row.to_owned() });
        let failure = Failure::new("said the target");
        if !self.rough() {
            take();
            return Outcome::Delivered(Receipt::default());
        }
        match self.shared.chance.below(100) {
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
                self.shared.journal.note(Event::Unanswered { row: row.to_owned() });
                Outcome::Uncertain(failure)
            }
            _ => {
                take();
                Outcome::Delivered(Receipt::default())
            }
        }
    }
}

impl Target {
    /// Records the end of a row if this attempt was its last and failed.
    fn note_end(&self, envelope: &Envelope, outcome: &Outcome) {
        let last = match outcome {
            Outcome::Rejected(_) | Outcome::Skipped(_) => true,
            Outcome::Retryable(_) | Outcome::Uncertain(_) => {
                envelope.attempt >= self.shared.subject.stage().attempts.max
            }
            Outcome::Delivered(_) | Outcome::Deferred(_) | Outcome::Refused(_) => false,
        };
        if last {
            self.shared.journal.note(Event::Hopeless { row: envelope.row.clone() });
        }
    }
}

#[async_trait]
impl Transport for Target {
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
            self.travel(Duration::from_secs(6)).await;
            let outcome = self.answer(&envelope.row);
            self.note_end(envelope, &outcome);
            if !matches!(outcome, Outcome::Delivered(_)) {
                held.extend(group);
            }
            outcomes.push(outcome);
            if self.rough() && self.shared.chance.once_in(60) {
                // The worker dies after the message was sent and before its outcome is recorded.
                self.life.kill();
            }
        }
        self.travel(Duration::from_millis(100)).await;
        outcomes
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        self.travel(Duration::from_millis(100)).await;
        if self.rough() && self.shared.chance.once_in(3) {
            return Err(transport::Error::Unreachable("still away".to_owned()));
        }
        Ok(())
    }
}

/// A composer that accepts every row.
pub(crate) struct Plain;

#[async_trait]
impl Composer for Plain {
    async fn compose(&self, rows: &[Claimed]) -> Vec<Result<Envelope, Outcome>> {
        let envelope = |row: &Claimed| Envelope {
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
