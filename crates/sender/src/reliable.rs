//! Several transports as one: each mail goes to the first sender that takes it.
//!
//! ```text
//! for each sender in order, those that cool down left out:
//!     for each wait of the plan (jittered; Retry-After if that is longer):
//!         a token of its bucket, then one try
//!         taken, or refused for good ──▶ that is the outcome
//!         sent and no answer         ──▶ again only where the target drops repeats; never to another sender
//!         it refuses us              ──▶ cool down, next sender
//!         not now                    ──▶ next try; after the last: cool down, next sender
//! ```
//!
//! A mail that had no answer may have been taken, and a second sender would make a second copy. So it stays with its
//! sender: within the attempt if that drops repeats, else in the next one, which asks the same sender first. Only if
//! that then fails for certain does another one get it: at least once comes before at most once.

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
    /// What outcomes call it.
    pub name: String,
    pub transport: Arc<dyn Transport>,
    /// Mails a second; `None`: as fast as it goes.
    pub rate: Option<f64>,
}

/// How hard a mail is tried within one attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The wait before each try at one sender; as many tries as waits.
    pub waits: Vec<Duration>,
    /// 0..=1: by how much a wait may differ.
    pub jitter: f64,
    /// How long a sender is left alone after its tries failed.
    pub cool_down: Duration,
    /// The longest Retry-After that is waited for; a longer one is a cool-down.
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

/// Several senders as one transport.
pub struct Reliable {
    inner: Arc<Inner>,
    /// Sends of one key that are under way.
    joined: Joined,
}

pub(crate) struct Inner {
    channels: Vec<Channel>,
    plan: Plan,
    dice: Arc<dyn Dice>,
    sticky: Sticky,
}

impl Reliable {
    /// At least one sender, in the order in which they are asked.
    pub fn new(senders: Vec<Sender>, plan: Plan, dice: Arc<dyn Dice>) -> Self {
        let channels = senders.into_iter().map(Channel::new).collect();
        let inner = Inner { channels, plan, dice, sticky: Sticky::default() };
        Self { inner: Arc::new(inner), joined: Joined::default() }
    }

    /// The same senders for a lane whose leases last `lease`: an attempt ends within three quarters of it.
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
        // The Message-ID has the lane in it; the recipients tell a retry for some from a send to all.
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
    /// One mail a call: another one's inner tries must not hold up its settle.
    fn capabilities(&self) -> transport::Capabilities {
        let each = self.inner.channels.iter().map(|channel| channel.sender.transport.capabilities());
        transport::Capabilities::new(1, each.map(|each| each.concurrency).max().unwrap_or(1))
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        join_all(batch.iter().map(|envelope| self.one(envelope, deadline))).await
    }

    /// One sender that answers is enough; those that answer need not cool down any longer.
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

/// One lane's view of the senders: its leases bound an attempt.
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
