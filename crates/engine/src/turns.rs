//! Fair queue: round-robin by fairness key. However many entries of one share wait, the next entry is of another share.
//!
//! Invariant: a share is in `round` exactly while entries of it wait.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::batch::HeldRow;

/// A fairness key. Rows without one form a share of their own (`None`), the only one on most lanes.
pub(crate) type Share = Option<Arc<str>>;

/// An entry that belongs to a share.
pub(crate) trait Shared {
    fn share(&self) -> Share;
}

impl Shared for HeldRow {
    fn share(&self) -> Share {
        self.row.share.clone()
    }
}

/// A queue per share, and the order in which the shares are served.
#[derive(Debug)]
pub(crate) struct Turns<T> {
    shares: HashMap<Share, VecDeque<T>>,
    round: VecDeque<Share>,
    count: usize,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self { shares: HashMap::new(), round: VecDeque::new(), count: 0 }
    }
}

impl<T: Shared> Turns<T> {
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
        let share = one.share();
        let waiting = self.shares.entry(share.clone()).or_default();
        if waiting.is_empty() {
            self.round.push_back(share);
        }
        waiting.push_back(one);
    }

    /// Takes the first entry of the next share that `may` accepts.
    pub fn next(&mut self, may: impl Fn(&Share) -> bool) -> Option<T> {
        let at = self.round.iter().position(may)?;
        // Shares that may not go keep their position, so they are served first once they may.
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
    pub fn give_up(&mut self, most: usize, size: impl Fn(&T) -> usize) -> Vec<T> {
        let mut given = Vec::new();
        let Some(waiting) = self.shares.values_mut().max_by_key(|waiting| waiting.len()) else {
            return given;
        };
        let mut left = most;
        while left > 0 && waiting.len() > 1 {
            let Some(last) = waiting.pop_back() else { break };
            left = left.saturating_sub(size(&last).max(1));
            given.push(last);
        }
        self.count -= given.len();
        given
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use postrider_contract::Counters;
    use postrider_seams::{Claimed, Lease, RowId};
    use tokio::time::Instant;

    use super::*;
    use crate::batch::Batch;

    fn row(id: i64, share: Option<&str>) -> HeldRow {
        let claimed = Claimed {
            lease: Lease { id: RowId::Int(id), fence: Box::new([]) },
            counters: Counters { attempts: 0, max_attempts: None, schedule: None },
            from: None,
            group: None,
            pool: None,
            share: share.map(Into::into),
            crashes: 0,
            since_crash: 0,
            waited_micros: 0,
            size: 0,
            fields: None,
        };
        let (_, mut held) = Batch::open(vec![claimed], Instant::now(), Duration::from_mins(1));
        held.pop().expect("one row")
    }

    fn ids(rows: &[HeldRow]) -> Vec<RowId> {
        rows.iter().map(|held| held.row.lease.id.clone()).collect()
    }

    #[test]
    fn j9_a_share_waits_for_one_row_of_each_other_not_for_all_of_one() {
        let mut turns = Turns::default();
        (0..100).for_each(|id| turns.push(row(id, Some("a"))));
        turns.push(row(100, Some("b")));
        turns.push(row(101, None));
        let first = ids(&turns.take(3));
        assert!(first.contains(&RowId::Int(100)) && first.contains(&RowId::Int(101)), "{first:?}");
        assert_eq!(turns.len(), 99);
        assert_eq!(turns.take(usize::MAX).len(), 99);
        assert!(turns.is_empty() && turns.shares.is_empty() && turns.round.is_empty());
    }

    #[test]
    fn rows_of_one_share_keep_their_order() {
        let mut turns = Turns::default();
        (0..5).for_each(|id| turns.push(row(id, Some("a"))));
        assert_eq!(ids(&turns.take(2)), [RowId::Int(0), RowId::Int(1)]);
        assert_eq!(ids(&turns.take(5)), [RowId::Int(2), RowId::Int(3), RowId::Int(4)]);
    }

    #[test]
    fn j9_who_has_most_gives_up_its_last() {
        let mut turns = Turns::default();
        (0..5).for_each(|id| turns.push(row(id, Some("a"))));
        turns.push(row(9, Some("b")));
        assert_eq!(ids(&turns.give_up(2, |_| 1)), [RowId::Int(4), RowId::Int(3)]);
        assert_eq!(turns.give_up(9, |_| 1).len(), 2, "its first stays");
        assert!(turns.give_up(9, |_| 1).is_empty());
        assert_eq!(ids(&turns.take(9)), [RowId::Int(0), RowId::Int(9)]);
        assert!(turns.is_empty());
    }

    #[test]
    fn j9_a_share_that_may_not_go_holds_up_no_other() {
        let mut turns = Turns::default();
        (0..3).for_each(|id| turns.push(row(id, Some("a"))));
        turns.push(row(9, Some("b")));
        let not_a = |share: &Share| share.as_deref() != Some("a");
        assert_eq!(turns.next(not_a).map(|held| held.row.lease.id), Some(RowId::Int(9)));
        assert!(turns.next(not_a).is_none());
        assert_eq!(turns.len(), 3);
        assert_eq!(turns.next(|_| true).map(|held| held.row.lease.id), Some(RowId::Int(0)));
    }
}
