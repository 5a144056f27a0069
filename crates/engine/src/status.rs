//! What a lane says of itself: for `/readyz`, the metrics, the console and `status`.

use std::time::Duration;

use serde::Serialize;

/// Is the lane moving, and if not, why?
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "health", rename_all = "snake_case")]
pub enum Health {
    Starting,
    Running,
    /// An operator said so.
    Paused,
    /// The target can't be reached: probing with backoff, rows wait unspent (G1).
    Unreachable {
        reason: String,
    },
    /// The target refuses us, or the store's settings are wrong: an operator must act (G3).
    Misconfigured {
        reason: String,
    },
    /// The database does not answer.
    StoreAway {
        reason: String,
    },
    /// The external queue does not answer: jobs that it would carry wait in the table; the others go on.
    QueueAway {
        reason: String,
    },
    /// Rows are held and nothing has moved for too long (the watchdog).
    Stalled {
        reason: String,
    },
    Draining,
    Stopped,
}

impl Health {
    /// May `/readyz` say yes? A lane that an operator paused is as it should be. One whose queue is away still takes jobs:
    /// callers that were sent elsewhere would lose what the table keeps for them.
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Running | Self::Paused | Self::QueueAway { .. })
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
    /// Why the store is left alone, whatever else is wrong.
    #[serde(skip)]
    pub store_trouble: Option<String>,
    /// The same for the target.
    #[serde(skip)]
    pub target_trouble: Option<String>,
    /// How long the lane has been stalled, or its store away, without a break.
    #[serde(skip)]
    pub stuck_for: Option<Duration>,
}
