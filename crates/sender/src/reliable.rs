//! Combines several transports into one: each mail goes to the first sender that accepts it.
//!
//! ```text
//! for each sender in order, except those that cool down:
//!     for each wait of the plan (with jitter; Retry-After if that is longer):
//!         take a token of the sender's bucket, then try once
//!         accepted, or rejected      ──▶ that is the outcome
//!         sent, but no answer        ──▶ try again only if the target drops duplicates; never another sender
//!         our credentials refused    ──▶ cool down, next sender
//!         temporary failure          ──▶ next try; after the last one: cool down, next sender
//! ```
//!
//! A mail without an answer may have been accepted, and a second sender would send a second copy. It therefore stays
//! with its sender: within the attempt if that sender drops duplicates, else in the next attempt, which tries the same
//! sender first. Only if that definitely fails does another sender get the mail: at least once has priority over at
//! most once.

mod attempt;
mod sender_state;
mod sends_in_progress;
mod token_bucket;
mod uncertain_senders;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use postrider_seams::{Content, Dice, Envelope, Failure, Outcome, Transport, transport};
use tokio::time::{Instant, timeout_at};

use sender_state::SenderState;
use sends_in_progress::SendsInProgress;
use uncertain_senders::UncertainSenders;

/// One of the transports behind a [`Reliable`].
#[derive(Clone)]
pub struct Sender {
    /// The sender's name in outcomes.
    pub name: String,
    pub transport: Arc<dyn Transport>,
    /// Mails per second; `None`: no limit.
    pub rate: Option<f64>,
}

/// The retry policy within one attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPlan {
    /// Wait before each try at one sender; there are as many tries as waits.
    pub waits: Vec<Duration>,
    /// Relative jitter of a wait, 0..=1.
    pub jitter: f64,
    /// Time for which a sender is not used after its tries failed.
    pub cool_down: Duration,
    /// Longest Retry-After that is waited for; a longer one becomes a cool-down.
    pub max_retry_after: Duration,
}

impl Default for RetryPlan {
    fn default() -> Self {
        Self {
            waits: vec![Duration::ZERO, Duration::from_millis(500), Duration::from_secs(2)],
            jitter: 0.2,
            cool_down: Duration::from_secs(30),
            max_retry_after: Duration::from_secs(10),
        }
    }
}

/// Several senders as one transport, with fail-over.
pub struct Reliable {
    inner: Arc<SenderGroup>,
    /// Sends in progress, by key.
    in_progress: SendsInProgress,
}

pub(crate) struct SenderGroup {
    senders: Vec<SenderState>,
    plan: RetryPlan,
    dice: Arc<dyn Dice>,
    uncertain_senders: UncertainSenders,
}

impl Reliable {
    /// Creates a transport of at least one sender, in the order in which they are tried.
    pub fn new(senders: Vec<Sender>, plan: RetryPlan, dice: Arc<dyn Dice>) -> Self {
        let senders = senders.into_iter().map(SenderState::new).collect();
        let inner = SenderGroup { senders, plan, dice, uncertain_senders: UncertainSenders::default() };
        Self { inner: Arc::new(inner), in_progress: SendsInProgress::default() }
    }

    /// Returns the same senders for a lane whose leases last `lease`: an attempt ends within three quarters of it, and
    /// a row that no sender tried is deferred for one lease at most. Without `follows_retry_after`, a Retry-After of a
    /// provider changes no wait of this lane: its contract ignores it.
    pub fn for_lane(self: &Arc<Self>, lease: Duration, follows_retry_after: bool) -> Arc<dyn Transport> {
        Arc::new(LaneView { inner: Arc::clone(self), lease, follows_retry_after })
    }

    async fn deliver_all(
        &self,
        batch: &[Envelope],
        deadline: Instant,
        follows_retry_after: bool,
    ) -> Vec<Outcome> {
        join_all(batch.iter().map(|envelope| self.deliver_one(envelope, deadline, follows_retry_after))).await
    }

    async fn deliver_one(
        &self,
        envelope: &Envelope,
        deadline: Instant,
        follows_retry_after: bool,
    ) -> Outcome {
        let Content::Mail(mail) = &envelope.content else {
            return Outcome::Rejected(Failure::new("not a mail: this transport sends only mails"));
        };
        let run = |envelope, key| {
            attempt::run(Arc::clone(&self.inner), envelope, key, deadline, follows_retry_after)
        };
        if envelope.dedupe.is_empty() {
            return run(envelope.clone(), String::new()).await;
        }
        // The Message-ID contains the lane; the recipients distinguish a retry for some of them from a send to all.
        let key = format!("{}\n{}\n{}", envelope.dedupe, mail.message_id, mail.to.join("\n"));
        let sending = self.in_progress.join(&key, || Box::pin(run(envelope.clone(), key.clone())));
        let outcome = timeout_at(deadline + attempt::ABANDON_AFTER * 2, sending).await;
        self.in_progress.remove_finished(&key);
        outcome.unwrap_or_else(|_| Outcome::Uncertain(attempt::failure("no answer in time", "unknown")))
    }
}

#[async_trait]
impl Transport for Reliable {
    /// One mail per call: the inner tries of one mail must not delay the settle of another.
    fn capabilities(&self) -> transport::Capabilities {
        let each = self.inner.senders.iter().map(|sender_state| sender_state.sender.transport.capabilities());
        transport::Capabilities::new(1, each.map(|each| each.concurrency).max().unwrap_or(1))
            .with_probe(transport::Probe::OneOfSeveral)
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        self.deliver_all(batch, deadline, true).await
    }

    /// Succeeds if at least one sender answers, and ends the cool-down of those that do.
    async fn probe(&self) -> Result<(), transport::Error> {
        let probes = self.inner.senders.iter().map(|sender_state| async move {
            let answer = sender_state.sender.transport.probe().await;
            if answer.is_ok() {
                sender_state.end_cool_down();
            }
            answer
        });
        let mut answers = join_all(probes).await;
        if answers.iter().any(Result::is_ok) {
            return Ok(());
        }
        let away = answers.iter().position(|answer| matches!(answer, Err(transport::Error::Unreachable(_))));
        answers.swap_remove(away.unwrap_or(0))
    }
}

/// The senders as seen by one lane. Its leases limit the duration of an attempt and of a deferral: a probe may end a
/// cool-down early, and a table may store a deferral as a lock.
struct LaneView {
    inner: Arc<Reliable>,
    lease: Duration,
    follows_retry_after: bool,
}

#[async_trait]
impl Transport for LaneView {
    fn capabilities(&self) -> transport::Capabilities {
        self.inner.capabilities()
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let deadline = deadline.min(Instant::now() + self.lease * 3 / 4);
        let mut outcomes = self.inner.deliver_all(batch, deadline, self.follows_retry_after).await;
        for outcome in &mut outcomes {
            if let Outcome::Deferred(failure) = outcome {
                failure.after = failure.after.map(|after| after.min(self.lease));
            }
        }
        outcomes
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        self.inner.probe().await
    }
}
