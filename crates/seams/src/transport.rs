//! Transport: sends envelopes and says what happened, nothing more. No retries, no store, no attempt count.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::{Envelope, Outcome};

/// Why a probe failed, or a transport can't start. Holds no secret.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The target can't be reached now.
    #[error("{0}")]
    Unreachable(String),
    /// The target refuses us: wrong credentials, no permission. An operator must act.
    #[error("{0}")]
    Refused(String),
}

/// A target that is left alone: nothing is sent there before the time is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// What is left alone: a host.
    pub target: String,
    pub why: HoldReason,
    pub left: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldReason {
    /// It kept failing: its breaker is open.
    Breaker,
    /// It asked for it (Retry-After).
    Asked,
}

/// What a transport can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The most envelopes that one call can use well; the engine never passes more.
    pub batch: usize,
    /// The most calls that can make progress at once (connections, for example).
    pub concurrency: usize,
    /// Do the envelopes of one call reach the target in their order? Then the rows of an ordered group go in one call
    /// (pipelined: no wait for each answer), else one call after another. Such a transport does not send an envelope
    /// after one of the same group failed, or its protocol sees to it that the later can't be taken before the earlier
    /// (Kafka's idempotent producer): what it did not send is `Deferred`.
    pub keeps_order: bool,
    /// Does the target drop a second delivery of the same `Envelope::dedupe`? Then what had no answer may be sent there
    /// once more without a second copy.
    pub drops_repeats: bool,
    /// How often an idle lane may look whether the target is there: where that costs the target next to nothing, as with a
    /// broker to which a connection is kept. `None`: it is looked at when something is to be sent.
    pub look_every: Option<Duration>,
}

impl Capabilities {
    /// Of one that keeps no order, whose target drops no repeats and is not looked at while nothing is sent.
    pub fn new(batch: usize, concurrency: usize) -> Self {
        Self { batch, concurrency, keeps_order: false, drops_repeats: false, look_every: None }
    }

    #[must_use]
    pub fn keeping_order(self, keeps_order: bool) -> Self {
        Self { keeps_order, ..self }
    }

    #[must_use]
    pub fn dropping_repeats(self, drops_repeats: bool) -> Self {
        Self { drops_repeats, ..self }
    }

    #[must_use]
    pub fn looked_at_every(self, look_every: Duration) -> Self {
        Self { look_every: Some(look_every), ..self }
    }
}

/// Who a claimed row is to, known before it is composed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addressed {
    /// The row's key, as `Envelope::row` has it.
    pub row: String,
    /// Normalised as in `Mail::to`; never empty.
    pub recipients: Vec<String>,
}

#[async_trait]
pub trait Transport: Send + Sync {
    /// What the engine plans with. One answer, so that a transport around another one can't forget a part of it.
    fn capabilities(&self) -> Capabilities;

    /// Is this envelope's target left alone now, and for how long? From memory; what is told is this instance's own.
    fn hold(&self, _envelope: &Envelope) -> Option<Hold> {
        None
    }

    /// Looks up, in one query for a whole claim, what `deliver` needs to know about these rows (a suppression list). Best
    /// effort: what could not be looked up here is looked up later. Cancel-safe.
    async fn look_up_claimed(&self, _rows: &[Addressed]) {}

    /// Looks up what is still missing for one call. Called right before `deliver`, so that only the delivery itself counts
    /// as the target's time. Best effort; cancel-safe.
    async fn look_up_missing(&self, _batch: &[Envelope]) {}

    /// Sends each envelope and answers one outcome per envelope, in order. Asks [`Envelope::may_begin`] right before it
    /// begins to send each: what waited too long is `Deferred`. Returns by `deadline`: what has no answer
    /// by then is `Uncertain` if it may have been taken, `Retryable` if it can't have been. Not cancel-safe: a
    /// dropped call leaves its envelopes uncertain.
    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome>;

    /// Is the target there, and does it accept us? Sends nothing.
    async fn probe(&self) -> Result<(), Error>;
}
