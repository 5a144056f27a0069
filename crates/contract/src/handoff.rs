//! Hand-off to an external queue: which sweeps are its pollers, and which column tells that a row is on the queue.
//!
//! Invariant of a contract that is `queued`: the mark of a ready row is NULL exactly while the queue is not believed to
//! have a pointer to it. Moves back to be tried again clear it; whoever publishes the row sets it.

use crate::assign::{Assignment, List};
use crate::{Contract, Move, Role, Set, Stage, StateId, Sweep, Transition, When};

/// The parts of a contract that concern an external queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Handoff<'a> {
    /// The sweep that publishes: an index into `contract.sweeps`.
    pub offer: usize,
    /// The sweep that takes back what the queue seems to have lost.
    pub stale: usize,
    /// When the row was last published.
    pub mark: &'a str,
}

impl Contract {
    /// What of the contract concerns a queue, if a lane of this stage can have one: a sweep that publishes rows into a
    /// ready state, and one that takes them back from there after a time.
    pub fn handoff(&self, stage: &Stage) -> Option<Handoff<'_>> {
        let offers = |sweep: &Sweep| sweep.publish && stage.ready.contains(&sweep.to);
        let offer = self.sweeps.iter().position(offers)?;
        let (to, from) = (self.sweeps[offer].to, &self.sweeps[offer].from);
        self.sweeps.iter().enumerate().find_map(|(stale, sweep)| match &sweep.when {
            When::OlderThan { since, .. }
                if sweep.only_queued && sweep.from == [to] && from.contains(&sweep.to) =>
            {
                Some(Handoff { offer, stale, mark: since })
            }
            _ => None,
        })
    }

    /// The contract as a lane with an external queue runs it.
    #[must_use]
    pub fn with_queue(mut self) -> Self {
        self.queued = true;
        self
    }

    /// The same, where the lane has a queue.
    pub fn queue_of(&self, stage: &Stage) -> Option<Handoff<'_>> {
        self.handoff(stage).filter(|_| self.queued)
    }

    /// The move that no state changes by: a row that is published, or that the queue turned out not to have.
    pub fn mark_move<'a>(&self, stage: &'a Stage, state: &'a StateId) -> Move<'a> {
        Move {
            stage,
            transition: Transition::Swept,
            from: std::slice::from_ref(state),
            to: None,
            sweep: None,
        }
    }

    /// What such a move writes.
    pub fn marks(&self, mark: &str, published: bool) -> Vec<Assignment> {
        let mut list = List::default();
        list.put(mark, if published { Set::Now } else { Set::Null });
        self.put_role(Role::Version, Set::Increment, &mut list);
        self.put_role(Role::Updated, Set::Now, &mut list);
        list.into()
    }

    /// Back to be tried again: the queue has no pointer to it.
    pub(crate) fn assign_mark(&self, step: &Move<'_>, list: &mut List) {
        let Some(handoff) = self.queue_of(step.stage) else { return };
        let back = match step.transition {
            Transition::Retry | Transition::Deferred | Transition::Released | Transition::Requeued => true,
            Transition::Reclaimed => step.to == Some(step.stage.retry),
            _ => false,
        };
        if back {
            list.put_new(handoff.mark, Set::Null);
        }
    }
}
