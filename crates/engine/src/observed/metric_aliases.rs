//! Metric aliases: a lane's metrics under the names that its contract gives them, in addition to our own names.

use metrics::{Counter, Histogram};
use postrider_contract::{Contract, Metric, Transition};
use postrider_seams::store::{LeaseResult, Reclaimed, Settlement};
use tokio::time::Duration;

/// The aliases of one lane. A metric for which the contract has no alias is `None` and is not counted here.
pub(crate) struct MetricAliases {
    polls: Option<Counter>,
    poll_seconds: Option<Histogram>,
    delivered: Option<Counter>,
    dead: Option<Counter>,
    reclaimed: Option<Counter>,
}

impl MetricAliases {
    /// Registers the metrics that the contract gives a name, with the label `lane`.
    pub fn new(lane: &str, contract: &Contract) -> Self {
        let name = |metric| contract.metrics.get(&metric).cloned();
        let counter = |metric| name(metric).map(|name| metrics::counter!(name, "lane" => lane.to_owned()));
        Self {
            polls: counter(Metric::Polls),
            poll_seconds: name(Metric::PollSeconds)
                .map(|name| metrics::histogram!(name, "lane" => lane.to_owned())),
            delivered: counter(Metric::Delivered),
            dead: counter(Metric::Dead),
            reclaimed: counter(Metric::Reclaimed),
        }
    }

    /// Counts one poll of the table, whether it found rows or not, and records its duration.
    pub fn polled(&self, took: Duration) {
        add(self.polls.as_ref(), 1);
        if let Some(seconds) = &self.poll_seconds {
            seconds.record(took);
        }
    }

    /// Counts the settled rows that were delivered, and those that ended dead or rejected. Lost rows do not count.
    pub fn settled(&self, moves: &[Settlement], answers: &[LeaseResult]) {
        if self.delivered.is_none() && self.dead.is_none() {
            return;
        }
        let count = |which: &[Transition]| {
            let held = moves.iter().zip(answers).filter(|(_, answer)| **answer == LeaseResult::Held);
            held.filter(|(settlement, _)| which.contains(&settlement.transition)).count() as u64
        };
        add(self.delivered.as_ref(), count(&[Transition::Delivered]));
        add(self.dead.as_ref(), count(&[Transition::Dead, Transition::Rejected]));
    }

    /// Counts reclaimed rows; those that were at their last attempt count as dead as well.
    pub fn reclaimed(&self, rows: &Reclaimed) {
        add(self.reclaimed.as_ref(), rows.rows());
        add(self.dead.as_ref(), rows.dead);
    }

    /// Counts rows that a sweep moved to dead because their attempts were used up.
    pub fn spent(&self, rows: u64) {
        add(self.dead.as_ref(), rows);
    }
}

fn add(counter: Option<&Counter>, rows: u64) {
    if let Some(counter) = counter.filter(|_| rows > 0) {
        counter.increment(rows);
    }
}
