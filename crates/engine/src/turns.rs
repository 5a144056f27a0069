//! Rows that wait, turn and turn about: however many of one share wait, those of another are next but one.
//!
//! Invariant: a share is in the round exactly while it has rows.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::batch::HeldRow;

#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Of rows that say no share: one like the others, and all there is on most lanes.
    plain: VecDeque<HeldRow>,
    shares: HashMap<Arc<str>, VecDeque<HeldRow>>,
    round: VecDeque<Arc<str>>,
    /// Whose turn it is, where both wait.
    plain_next: bool,
    rows: usize,
}

impl Turns {
    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub fn push(&mut self, held: HeldRow) {
        self.rows += 1;
        let Some(share) = held.row.share.clone() else { return self.plain.push_back(held) };
        let waiting = self.shares.entry(Arc::clone(&share)).or_default();
        if waiting.is_empty() {
            self.round.push_back(share);
        }
        waiting.push_back(held);
    }

    /// Up to `most` rows, one of each share in turn.
    pub fn take(&mut self, most: usize) -> Vec<HeldRow> {
        let rows = most.min(self.rows);
        self.rows -= rows;
        if self.round.is_empty() {
            return self.plain.drain(..rows).collect();
        }
        let mut taken = Vec::with_capacity(rows);
        while taken.len() < rows {
            taken.extend(self.next());
        }
        taken
    }

    fn next(&mut self) -> Option<HeldRow> {
        let plain = !self.plain.is_empty() && (self.plain_next || self.round.is_empty());
        self.plain_next = !plain;
        if plain {
            return self.plain.pop_front();
        }
        let share = self.round.pop_front()?;
        let waiting = self.shares.get_mut(&share)?;
        let next = waiting.pop_front();
        if waiting.is_empty() {
            self.shares.remove(&share);
        } else {
            self.round.push_back(share);
        }
        next
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
        let first = ids(&turns.take(4));
        assert!(first.contains(&RowId::Int(100)) && first.contains(&RowId::Int(101)), "{first:?}");
        assert_eq!(turns.len(), 98);
        assert_eq!(turns.take(usize::MAX).len(), 98);
        assert!(turns.is_empty() && turns.shares.is_empty());
    }

    #[test]
    fn rows_of_one_share_keep_their_order() {
        let mut turns = Turns::default();
        (0..5).for_each(|id| turns.push(row(id, Some("a"))));
        assert_eq!(ids(&turns.take(5)), (0..5).map(RowId::Int).collect::<Vec<_>>());
    }
}
