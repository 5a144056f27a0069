//! Transport: sends envelopes and returns their outcomes, nothing more. No retries, no store, no attempt count.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::{Envelope, Outcome};

/// An error of a probe, or of a transport that cannot start. Contains no secret.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The target cannot be reached now.
    #[error("{0}")]
    Unreachable(String),
    /// The target refuses our credentials or permissions. An operator must act.
    #[error("{0}")]
    Refused(String),
}

/// A target to which nothing is sent until a time limit ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetHold {
    /// The target: a host.
    pub target: String,
    pub why: HoldReason,
    pub left: Duration,
}

/// The reason why nothing is sent to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldReason {
    /// Repeated failures: its circuit breaker is open.
    Breaker,
    /// The target requested it (Retry-After).
    RetryAfter,
}

/// The properties of a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The maximum number of envelopes that one call uses efficiently; the engine never passes more.
    pub batch: usize,
    /// The maximum number of concurrent calls that make progress (connections, for example).
    pub concurrency: usize,
    /// Whether the envelopes of one call reach the target in order. Then the rows of an ordered group are sent in one
    /// call (pipelined: no wait for each answer), otherwise in one call after another. Such a transport does not send
    /// an envelope after one of the same group failed, or its protocol prevents the later one from being accepted first
    /// (Kafka's idempotent producer): an envelope that was not sent is `Deferred`.
    pub keeps_order: bool,
    /// Whether the target drops a second delivery with the same `Envelope::dedupe`. Then an envelope without an answer
    /// may be sent again without creating a duplicate.
    pub deduplicates: bool,
    /// The probe interval of an idle lane, if a probe costs the target almost nothing, as with a broker over an open
    /// connection. `None`: the target is probed only when something is to be sent.
    pub idle_probe_interval: Option<Duration>,
    /// What a successful probe shows.
    pub probe: Probe,
}

/// The meaning of a successful [`Transport::probe`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// The target is reachable and accepts our credentials.
    Target,
    /// At least one of several targets is and does.
    OneOfSeveral,
    /// The folder can be written.
    Folder,
    /// Nothing: each row names its own target, and none is probed.
    Nothing,
}

impl Capabilities {
    /// Creates the properties of a transport with one target, that keeps no order, drops no duplicates, and is not probed
    /// while idle.
    pub fn new(batch: usize, concurrency: usize) -> Self {
        Self {
            batch,
            concurrency,
            keeps_order: false,
            deduplicates: false,
            idle_probe_interval: None,
            probe: Probe::Target,
        }
    }

    /// Sets whether the envelopes of one call reach the target in order.
    #[must_use]
    pub fn keeping_order(self, keeps_order: bool) -> Self {
        Self { keeps_order, ..self }
    }

    /// Sets whether the target drops duplicates.
    #[must_use]
    pub fn deduplicating(self, deduplicates: bool) -> Self {
        Self { deduplicates, ..self }
    }

    /// Sets what a successful probe shows.
    #[must_use]
    pub fn with_probe(self, probe: Probe) -> Self {
        Self { probe, ..self }
    }

    /// Sets the probe interval of an idle lane.
    #[must_use]
    pub fn with_probe_interval(self, idle_probe_interval: Duration) -> Self {
        Self { idle_probe_interval: Some(idle_probe_interval), ..self }
    }
}

/// The recipients of a claimed row, known before it is composed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addressed {
    /// The row's key, as in `Envelope::row`.
    pub row: String,
    /// Normalised as in `Mail::to`; never empty.
    pub recipients: Vec<String>,
}

/// Sends envelopes to one kind of target.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Returns the properties, all in one call, so that a transport that wraps another one cannot forget some of them.
    fn capabilities(&self) -> Capabilities;

    /// Returns why and for how long nothing is sent to this envelope's target; `None` if it may be sent. Read from
    /// memory, so it covers this instance only.
    fn hold(&self, _envelope: &Envelope) -> Option<TargetHold> {
        None
    }

    /// Looks up, in one query for a whole claim, what `deliver` needs to know about these rows (a suppression list).
    /// Best effort: `look_up_missing` repeats what failed here. Cancel-safe.
    async fn look_up_claimed(&self, _rows: &[Addressed]) {}

    /// Looks up what is still missing for one call. Called right before `deliver`, so that only the delivery itself
    /// counts as delivery time. Best effort; cancel-safe.
    async fn look_up_missing(&self, _batch: &[Envelope]) {}

    /// Sends the envelopes and returns one outcome per envelope, in order. Calls [`Envelope::may_begin`] right before
    /// it begins to send each: one that waited too long is `Deferred`. Returns by `deadline`: an envelope without an
    /// answer by then is `Uncertain` if it may have been accepted, `Retryable` if it cannot have been, and `Deferred` if
    /// nothing of it was sent for lack of room. Not cancel-safe: a dropped call leaves its envelopes uncertain.
    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome>;

    /// Checks that the target is up and accepts our credentials, as far as `Capabilities::probe` says. Sends no message.
    async fn probe(&self) -> Result<(), Error>;
}
