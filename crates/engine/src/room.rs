//! Room for rows: who may claim when the lane can hold no more, or not enough for all who ask.
//!
//! Owns: waking everybody who waits for room, and the turns between the two sources of a lane with an external queue (its
//! table and its queue). Must not: count the rows held (`state.rs` does).
//!
//! Invariant: every change that can give somebody room wakes everybody who waits for it: rows were settled, a claim came
//! back with fewer rows than it had room for, a turn was passed on. A single wake-up could reach one who has no use for
//! the room, and everybody else would sleep on although nothing is held.

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

#[derive(Debug)]
pub(crate) struct Room {
    changed: watch::Sender<()>,
    turns: Mutex<Turns>,
}

#[derive(Debug)]
struct Turns {
    /// Claimers that wait for room, of each source.
    waiting: [usize; 2],
    /// Whose turn it is where both wait.
    next: Source,
}

/// A place among those who wait for room; dropped, nobody is held back for it any more.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    room: &'a Room,
    source: Source,
}

impl Room {
    pub fn new() -> Self {
        Self {
            changed: watch::Sender::new(()),
            turns: Mutex::new(Turns { waiting: [0, 0], next: Source::Table }),
        }
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees every change from now on. Mark it as seen before looking for room, and wait for a change only after that.
    pub fn subscribe(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// There may be room.
    pub fn freed(&self) {
        self.changed.send_replace(());
    }

    /// Does the other source wait for room as well?
    pub fn is_contended(&self, source: Source) -> bool {
        self.turns().waiting[source.other() as usize] > 0
    }

    /// May this source take room now? Not while the other waits and it is that one's turn.
    pub fn may(&self, source: Source) -> bool {
        let turns = self.turns();
        turns.waiting[source.other() as usize] == 0 || turns.next == source
    }

    /// This source took room: the other is next.
    pub fn took(&self, source: Source) {
        let mut turns = self.turns();
        turns.next = source.other();
        let passed_on = turns.waiting[source.other() as usize] > 0;
        drop(turns);
        if passed_on {
            self.freed();
        }
    }

    /// Waits in line. Those of the other source look again, as what they wait for may be less now that they share.
    pub fn wait(&self, source: Source) -> Place<'_> {
        self.turns().waiting[source as usize] += 1;
        self.freed();
        Place { room: self, source }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.room.turns().waiting[self.source as usize] -= 1;
        self.room.freed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j3_table_and_queue_take_turns_while_both_wait() {
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
