//! One sender with its state: its rate limit, and the end of its cool-down.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Sender;
use super::token_bucket::TokenBucket;

/// The longest cool-down, whatever the provider asks for.
const LONGEST_COOL_DOWN: Duration = Duration::from_hours(24);

pub(super) struct SenderState {
    pub sender: Sender,
    pub bucket: Option<TokenBucket>,
    cool_until: Mutex<Option<Instant>>,
}

impl SenderState {
    /// Creates the state of a sender that is not cooling down, with a bucket if the sender has a rate.
    pub fn new(sender: Sender) -> Self {
        let bucket = sender.rate.filter(|rate| *rate > 0.0).map(TokenBucket::new);
        Self { sender, bucket, cool_until: Mutex::default() }
    }

    /// Returns the remaining cool-down; `None` if the sender may be used.
    pub fn cool_down_left(&self, now: Instant) -> Option<Duration> {
        let until = *self.cool_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.map(|until| until.saturating_duration_since(now)).filter(|rest| !rest.is_zero())
    }

    /// Starts a cool-down of this length; one that ends later is kept.
    pub fn start_cool_down(&self, now: Instant, time: Duration, reason: &str) {
        let end = now + time.min(LONGEST_COOL_DOWN);
        let mut until = self.cool_until.lock().unwrap_or_else(PoisonError::into_inner);
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
        *self.cool_until.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
