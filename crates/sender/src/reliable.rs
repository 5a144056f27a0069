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
mod bucket;
mod channel;
mod joined;
mod sticky;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use postrider_seams::{Content, Dice, Envelope, Failure, Outcome, Transport, transport};
use tokio::time::{Instant, timeout_at};

use channel::Channel;
use joined::Joined;
use sticky::Sticky;

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
pub struct Plan {
    /// Wait before each try at one sender; there are as many tries as waits.
    pub waits: Vec<Duration>,
    /// Relative jitter of a wait, 0..=1.
    pub jitter: f64,
    /// Time for which a sender is not used after its tries failed.
    pub cool_down: Duration,
    /// Longest Retry-After that is waited for; a longer one becomes a cool-down.
    pub patience: Duration,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            waits: vec![Duration::ZERO, Duration::from_millis(500), Duration::from_secs(2)],
            jitter: 0.2,
            cool_down: Duration::from_secs(30),
            patience: Duration::from_secs(10),
        }
    }
}

/// Several senders as one transport, with fail-over.
pub struct Reliable {
    inner: Arc<Inner>,
    /// Sends in progress, by key.
    joined: Joined,
}

pub(crate) struct Inner {
    channels: Vec<Channel>,
    plan: Plan,
    dice: Arc<dyn Dice>,
    sticky: Sticky,
}

impl Reliable {
    /// Creates a transport of at least one sender, in the order in which they are tried.
    pub fn new(senders: Vec<Sender>, plan: Plan, dice: Arc<dyn Dice>) -> Self {
        let channels = senders.into_iter().map(Channel::new).collect();
        let inner = Inner { channels, plan, dice, sticky: Sticky::default() };
        Self { inner: Arc::new(inner), joined: Joined::default() }
    }

    /// Returns the same senders for a lane whose leases last `lease`: an attempt ends within three quarters of it.
    pub fn within(self: &Arc<Self>, lease: Duration) -> Arc<dyn Transport> {
        Arc::new(Bounded { inner: Arc::clone(self), budget: lease * 3 / 4 })
    }

    async fn one(&self, envelope: &Envelope, deadline: Instant) -> Outcome {
        let Content::Mail(mail) = &envelope.content else {
            return Outcome::Rejected(Failure::new("mail senders take mails, and this row is none"));
        };
        if envelope.dedupe.is_empty() {
            return attempt::run(Arc::clone(&self.inner), envelope.clone(), String::new(), deadline).await;
        }
        // The Message-ID contains the lane; the recipients distinguish a retry for some of them from a send to all.
        let key = format!("{}\n{}\n{}", envelope.dedupe, mail.message_id, mail.to.join("\n"));
        let sending = self.joined.join(&key, || {
            Box::pin(attempt::run(Arc::clone(&self.inner), envelope.clone(), key.clone(), deadline))
        });
        let outcome = timeout_at(deadline + attempt::GRACE * 2, sending).await;
        self.joined.leave(&key);
        outcome.unwrap_or_else(|_| Outcome::Uncertain(attempt::failure("no answer in time", "unknown")))
    }
}

#[async_trait]
impl Transport for Reliable {
    /// One mail per call: the inner tries of one mail must not delay the settle of another.
    fn capabilities(&self) -> transport::Capabilities {
        let each = self.inner.channels.iter().map(|channel| channel.sender.transport.capabilities());
        transport::Capabilities::new(1, each.map(|each| each.concurrency).max().unwrap_or(1))
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        join_all(batch.iter().map(|envelope| self.one(envelope, deadline))).await
    }

    /// Succeeds if at least one sender answers, and ends the cool-down of those that do.
    async fn probe(&self) -> Result<(), transport::Error> {
        let probes = self.inner.channels.iter().map(|channel| async move {
            let answer = channel.sender.transport.probe().await;
            if answer.is_ok() {
                channel.warm();
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

/// The senders as seen by one lane, whose leases limit the duration of an attempt.
struct Bounded {
    inner: Arc<Reliable>,
    budget: Duration,
}

#[async_trait]
impl Transport for Bounded {
    fn capabilities(&self) -> transport::Capabilities {
        self.inner.capabilities()
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        self.inner.deliver(batch, deadline.min(Instant::now() + self.budget)).await
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        self.inner.probe().await
    }
}
