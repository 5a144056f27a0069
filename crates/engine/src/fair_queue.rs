//! Fair queue and fair share limit: clients that share a lane are served in rotation, and none occupies all of it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::batch::HeldRow;

/// A fairness key. Rows without one form a share of their own (`None`), the only one on most lanes.
pub(crate) type FairnessKey = Option<Arc<str>>;

/// An entry that belongs to a share.
pub(crate) trait HasFairnessKey {
    fn fairness_key(&self) -> FairnessKey;
}

impl HasFairnessKey for HeldRow {
    fn fairness_key(&self) -> FairnessKey {
        self.row.share.clone()
    }
}

/// A queue per share, served round-robin: however many entries of one share wait, the next entry is of another share.
///
/// Invariant: a share is in `round` exactly while entries of it wait.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    shares: HashMap<FairnessKey, VecDeque<T>>,
    round: VecDeque<FairnessKey>,
    count: usize,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self { shares: HashMap::new(), round: VecDeque::new(), count: 0 }
    }
}

impl<T: HasFairnessKey> FairQueue<T> {
    /// The number of entries that wait.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether no entry waits.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends an entry to the queue of its share.
    pub fn push(&mut self, one: T) {
        self.count += 1;
        let share = one.fairness_key();
        let waiting = self.shares.entry(share.clone()).or_default();
        if waiting.is_empty() {
            self.round.push_back(share);
        }
        waiting.push_back(one);
    }

    /// Takes the first entry of the next share that `may_begin` accepts.
    pub fn next(&mut self, may_begin: impl Fn(&FairnessKey) -> bool) -> Option<T> {
        let at = self.round.iter().position(may_begin)?;
        // Shares that may not begin keep their position, so they are served first once they may.
        let share = self.round.remove(at)?;
        let waiting = self.shares.get_mut(&share)?;
        let one = waiting.pop_front();
        if waiting.is_empty() {
            self.shares.remove(&share);
        } else {
            self.round.push_back(share);
        }
        self.count -= usize::from(one.is_some());
        one
    }

    /// Takes up to `most` entries, one of each share in rotation.
    pub fn take(&mut self, most: usize) -> Vec<T> {
        let count = most.min(self.count);
        if let [only] = self.round.make_contiguous()
            && let Some(waiting) = self.shares.get_mut(only)
            && count < waiting.len()
        {
            self.count -= count;
            return waiting.drain(..count).collect();
        }
        std::iter::from_fn(|| self.next(|_| true)).take(count).collect()
    }

    /// Returns the first entry of the next share, without taking it.
    pub fn peek(&self) -> Option<&T> {
        self.shares.get(self.round.front()?)?.front()
    }

    /// Iterates over all entries, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.shares.values().flatten()
    }

    /// Removes the last entries of the share that has most, about `most` by `size`; the first entry of each share
    /// stays.
    pub fn evict(&mut self, most: usize, size: impl Fn(&T) -> usize) -> Vec<T> {
        let mut evicted = Vec::new();
        let Some(waiting) = self.shares.values_mut().max_by_key(|waiting| waiting.len()) else {
            return evicted;
        };
        let mut left = most;
        while left > 0 && waiting.len() > 1 {
            let Some(last) = waiting.pop_back() else { break };
            left = left.saturating_sub(size(&last).max(1));
            evicted.push(last);
        }
        self.count -= evicted.len();
        evicted
    }
}

const TIMES: usize = 7;

/// Fair share limit: how many concurrent deliveries each share has, and how many it may have.
///
/// A share may have at most [`TIMES`] times as many deliveries as there are free slots. A single share gets all but an
/// eighth; several shares converge to equal parts as deliveries end; and some slots stay free for a new share, so that
/// no client can fill a lane with deliveries that hang. With fewer than eight slots there is no such limit.
#[derive(Debug, Default)]
pub(crate) struct FairShareLimit {
    /// Concurrent deliveries of the lane; `None` if shares are not limited.
    room: Option<usize>,
    all: usize,
    of: HashMap<FairnessKey, usize>,
}

impl FairShareLimit {
    /// Creates a limit for `room` concurrent deliveries; `None` disables it.
    pub fn with_room(room: Option<usize>) -> Self {
        Self { room, ..Self::default() }
    }

    /// Whether shares are limited.
    pub fn is_bounded(&self) -> bool {
        self.room.is_some()
    }

    /// Whether this share may begin one more delivery.
    pub fn may_begin(&self, share: &FairnessKey) -> bool {
        let Some(room) = self.room else { return true };
        let own = self.of.get(share).copied().unwrap_or(0);
        own < TIMES * room.saturating_sub(self.all)
    }

    /// Counts a delivery of this share as begun.
    pub fn record_begin(&mut self, share: FairnessKey) {
        if self.room.is_some() {
            self.all += 1;
            *self.of.entry(share).or_default() += 1;
        }
    }

    /// Counts a delivery of this share as ended.
    pub fn record_end(&mut self, share: &FairnessKey) {
        if let Some(own) = self.of.get_mut(share) {
            self.all -= 1;
            *own -= 1;
            if *own == 0 {
                self.of.remove(share);
            }
        }
    }
}

#[cfg(test)]
mod tests;
