//! The status of a lane as reported by `/readyz`, the metrics, the console and `status`.

use std::time::Duration;

use serde::Serialize;

/// The health of a lane: whether it makes progress, and if not, the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "health", rename_all = "snake_case")]
pub enum Health {
    Starting,
    Running,
    /// Paused by an operator.
    Paused,
    /// The target cannot be reached: the lane probes with backoff, rows wait unspent (G1).
    Unreachable {
        reason: String,
    },
    /// The target refuses our credentials, or the store's settings are wrong: an operator must act (G3).
    Misconfigured {
        reason: String,
    },
    /// The database does not answer, or refuses every outcome.
    #[serde(rename = "store_away")]
    StoreUnavailable {
        reason: String,
    },
    /// The external queue does not answer: jobs that it would carry wait in the table; others are delivered.
    #[serde(rename = "queue_away")]
    QueueUnavailable {
        reason: String,
    },
    /// Rows are held and nothing has moved for too long (reported by the watchdog).
    Stalled {
        reason: String,
    },
    Draining,
    Stopped,
}

impl Health {
    /// Whether `/readyz` reports the lane as ready. A lane that an operator paused is ready. A lane whose queue is away
    /// still accepts jobs: the table keeps them until the queue is back.
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Running | Self::Paused | Self::QueueUnavailable { .. })
    }
}

/// A lane's state and counters since the start of the process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LaneStatus {
    pub lane: String,
    pub contract: String,
    pub stage: String,
    #[serde(flatten)]
    pub health: Health,
    /// Rows held now: waiting, in flight, or with an outcome not yet settled.
    pub held: u64,
    pub claimed: u64,
    pub delivered: u64,
    pub retried: u64,
    /// Dead, rejected and skipped.
    pub failed: u64,
    /// Settles that the fence refused.
    pub lost: u64,
    pub reclaimed: u64,
    /// The reason why the store cannot be used, whatever else is wrong; `None` if it can.
    #[serde(skip)]
    pub store_trouble: Option<String>,
    /// The reason why nothing is sent to the target; `None` if it is well.
    #[serde(skip)]
    pub target_trouble: Option<String>,
    /// Time for which the lane has been stalled, or its store away, without interruption; `None` if neither.
    #[serde(skip)]
    pub stuck_for: Option<Duration>,
}
