//! Fair share limit: how many concurrent deliveries each share (fairness key) has, and how many it may have.
//!
//! A share may have at most [`TIMES`] times as many deliveries as there are free slots. A single share gets all but an
//! eighth; several shares converge to equal parts as deliveries end; and some slots stay free for a new share, so that
//! no client can fill a lane with deliveries that hang. With fewer than eight slots there is no such limit.

use std::collections::HashMap;

use crate::turns::Share;

const TIMES: usize = 7;

#[derive(Debug, Default)]
pub(crate) struct Crowd {
    /// Concurrent deliveries of the lane; `None` if shares are not limited.
    room: Option<usize>,
    all: usize,
    of: HashMap<Share, usize>,
}

impl Crowd {
    /// Creates a limit for `room` concurrent deliveries; `None` disables it.
    pub fn with_room(room: Option<usize>) -> Self {
        Self { room, ..Self::default() }
    }

    /// Whether shares are limited.
    pub fn is_bounded(&self) -> bool {
        self.room.is_some()
    }

    /// Whether this share may begin one more delivery.
    pub fn may(&self, share: &Share) -> bool {
        let Some(room) = self.room else { return true };
        let own = self.of.get(share).copied().unwrap_or(0);
        own < TIMES * room.saturating_sub(self.all)
    }

    /// Counts a delivery of this share as begun.
    pub fn began(&mut self, share: Share) {
        if self.room.is_some() {
            self.all += 1;
            *self.of.entry(share).or_default() += 1;
        }
    }

    /// Counts a delivery of this share as ended.
    pub fn ended(&mut self, share: &Share) {
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
mod tests {
    use super::*;

    fn fill(crowd: &mut Crowd, name: &str) -> usize {
        let (before, share) = (crowd.all, Some(name.into()));
        while crowd.may(&share) {
            crowd.began(share.clone());
        }
        crowd.all - before
    }

    #[test]
    fn j9_no_share_gets_all_deliveries_and_a_new_one_finds_some() {
        let mut crowd = Crowd::with_room(Some(512));
        assert_eq!(fill(&mut crowd, "a"), 448);
        let second = fill(&mut crowd, "b");
        assert!((50..64).contains(&second), "{second}");
        for n in 0..2 {
            assert!(fill(&mut crowd, &format!("late {n}")) > 0);
        }
        let a: Share = Some("a".into());
        (0..448).for_each(|_| crowd.ended(&a));
        assert!(!crowd.of.contains_key(&a) && crowd.may(&a));
    }

    #[test]
    fn a_few_deliveries_are_not_divided() {
        for room in 1..8 {
            assert_eq!(fill(&mut Crowd::with_room(Some(room)), "a"), room);
        }
        let mut unbounded = Crowd::default();
        (0..10_000).for_each(|_| unbounded.began(None));
        assert!(unbounded.may(&None));
    }
}
