//! Room for rows: who may claim when the lane is full, or has too little room for all who want to claim.
//!
//! Owns: waking every claimer that waits for room, and alternating between the two sources of a lane with an external
//! queue (its table and its queue). Must not: count the rows held (`state.rs` does).
//!
//! Invariant: every change that can give a claimer room wakes all claimers that wait for it: rows were settled, a claim
//! returned fewer rows than it had room for, the turn passed to the other source. A single wake-up could reach a
//! claimer that cannot use the room, and the others would sleep on although nothing is held.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Where rows are claimed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Table,
    Queue,
}

impl Source {
    fn other(self) -> Self {
        match self {
            Self::Table => Self::Queue,
            Self::Queue => Self::Table,
        }
    }
}

/// Wakes those that wait for room, and alternates between table and queue.
#[derive(Debug)]
pub(crate) struct Room {
    changed: watch::Sender<()>,
    turns: Mutex<Turns>,
}

#[derive(Debug)]
struct Turns {
    /// Claimers that wait for room, per source.
    waiting: [usize; 2],
    /// The source that may claim next if both wait.
    next: Source,
}

/// A place among those that wait for room; while it lives, the other source may have to wait its turn.
#[derive(Debug)]
pub(crate) struct WaitingClaimer<'a> {
    room: &'a Room,
    source: Source,
}

impl Room {
    /// Creates a room for which no claimer waits.
    pub fn new() -> Self {
        Self {
            changed: watch::Sender::new(()),
            turns: Mutex::new(Turns { waiting: [0, 0], next: Source::Table }),
        }
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Subscribes to every change. Mark it as unchanged before checking for room, and only then wait for a change.
    pub fn subscribe(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Wakes all that wait: there may be room.
    pub fn freed(&self) {
        self.changed.send_replace(());
    }

    /// Whether the other source waits for room as well.
    pub fn is_contended(&self, source: Source) -> bool {
        self.turns().waiting[source.other() as usize] > 0
    }

    /// Whether this source may reserve room now: not while the other waits and it is the other's turn.
    pub fn may(&self, source: Source) -> bool {
        let turns = self.turns();
        turns.waiting[source.other() as usize] == 0 || turns.next == source
    }

    /// Records that this source reserved room: the other one is next.
    pub fn took(&self, source: Source) {
        let mut turns = self.turns();
        turns.next = source.other();
        let passed_on = turns.waiting[source.other() as usize] > 0;
        drop(turns);
        if passed_on {
            self.freed();
        }
    }

    /// Waits in line. Wakes the other source's claimers, because they may now claim with less room.
    pub fn wait(&self, source: Source) -> WaitingClaimer<'_> {
        self.turns().waiting[source as usize] += 1;
        self.freed();
        WaitingClaimer { room: self, source }
    }
}

impl Drop for WaitingClaimer<'_> {
    fn drop(&mut self) {
        self.room.turns().waiting[self.source as usize] -= 1;
        self.room.freed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j03_table_and_queue_take_turns_while_both_wait() {
        let room = Room::new();
        assert!(room.may(Source::Table) && room.may(Source::Queue), "nobody waits");
        let table = room.wait(Source::Table);
        let queue = room.wait(Source::Queue);
        for _ in 0..2 {
            assert!(room.may(Source::Table) && !room.may(Source::Queue));
            room.took(Source::Table);
            assert!(!room.may(Source::Table) && room.may(Source::Queue));
            room.took(Source::Queue);
        }
        drop(table);
        assert!(room.may(Source::Queue), "the table wants nothing any more");
        drop(queue);
    }

    #[tokio::test]
    async fn every_waiter_is_woken_by_every_change() {
        let room = Room::new();
        let mut waiters = [room.subscribe(), room.subscribe(), room.subscribe()];
        room.freed();
        for waiter in &mut waiters {
            waiter.changed().await.expect("the sender is there");
        }
        let place = room.wait(Source::Table);
        for waiter in &mut waiters {
            waiter.mark_unchanged();
        }
        drop(place);
        for waiter in &mut waiters {
            waiter.changed().await.expect("a turn that ends is a change");
        }
    }
}
