//! One sender with its state: its rate limit, and the end of its cool-down.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Sender;
use super::token_bucket::TokenBucket;

/// The longest cool-down, whatever the provider asks for.
const LONGEST_COOL_DOWN: Duration = Duration::from_hours(24);

pub(super) struct SenderState {
    pub sender: Sender,
    pub bucket: Option<TokenBucket>,
    cool_down: Mutex<CoolDown>,
}

/// The ends of a sender's cool-down.
#[derive(Default)]
struct CoolDown {
    until: Option<Instant>,
    /// The end of a pause that the provider requested with Retry-After.
    requested_until: Option<Instant>,
}

impl SenderState {
    /// Creates the state of a sender that is not cooling down, with a bucket if the sender has a rate.
    pub fn new(sender: Sender) -> Self {
        let bucket = sender.rate.filter(|rate| *rate > 0.0).map(TokenBucket::new);
        Self { sender, bucket, cool_down: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, CoolDown> {
        self.cool_down.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the remaining cool-down; `None` if the sender may be used. A pause that the provider requested counts only
    /// for lanes that follow Retry-After.
    pub fn cool_down_left(&self, now: Instant, follows_retry_after: bool) -> Option<Duration> {
        let cool_down = self.lock();
        let requested = cool_down.requested_until.filter(|_| follows_retry_after);
        let until = cool_down.until.max(requested);
        until.map(|until| until.saturating_duration_since(now)).filter(|rest| !rest.is_zero())
    }

    /// Starts a cool-down of this length after failed tries.
    pub fn start_cool_down(&self, now: Instant, time: Duration, reason: &str) {
        self.extend(&mut self.lock().until, now, time, reason);
    }

    /// Starts a cool-down of the length that the provider requested.
    pub fn start_requested_pause(&self, now: Instant, time: Duration, reason: &str) {
        self.extend(&mut self.lock().requested_until, now, time, reason);
    }

    /// Moves the end of a cool-down; one that ends later is kept.
    fn extend(&self, until: &mut Option<Instant>, now: Instant, time: Duration, reason: &str) {
        let end = now + time.min(LONGEST_COOL_DOWN);
        let was_usable = until.is_none_or(|until| until <= now);
        *until = Some(until.map_or(end, |until| until.max(end)));
        if was_usable {
            tracing::warn!(
                sender = self.sender.name,
                ?time,
                reason,
                "the sender cools down and is not used meanwhile"
            );
        }
    }

    /// Ends the cool-down.
    pub fn end_cool_down(&self) {
        *self.lock() = CoolDown::default();
    }
}
