//! Hand-off to an external queue: which sweeps publish and recall rows, and which column records the publication.
//!
//! Invariant of a contract that is `queued`: the publication time of a ready row is NULL exactly while the queue is assumed
//! to have no pointer to the row. Transitions back to a ready state clear it; the queue publisher sets it.

use crate::assign::{Assignment, Assignments};
use crate::{ColumnRole, Contract, Move, Set, Stage, StateId, Sweep, Transition, When};

/// The parts of a contract that concern an external queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueSweeps<'a> {
    /// The sweep that publishes rows: an index into `contract.sweeps`.
    pub publish: usize,
    /// The sweep that recalls rows whose pointers the queue seems to have lost: an index into `contract.sweeps`.
    pub stale: usize,
    /// The column with the time at which the row was last published.
    pub published_at: &'a str,
}

impl Contract {
    /// Returns the sweeps and the column for an external queue, or `None` if a lane of this stage cannot have one.
    ///
    /// A stage can have one if a sweep publishes rows into a ready state and another takes them back after a time.
    pub fn handoff(&self, stage: &Stage) -> Option<QueueSweeps<'_>> {
        let publishes = |sweep: &Sweep| sweep.publish && stage.ready.contains(&sweep.to);
        let publish = self.sweeps.iter().position(publishes)?;
        let (to, from) = (self.sweeps[publish].to, &self.sweeps[publish].from);
        self.sweeps.iter().enumerate().find_map(|(stale, sweep)| match &sweep.when {
            When::OlderThan { since, .. }
                if sweep.only_with_queue && sweep.from == [to] && from.contains(&sweep.to) =>
            {
                Some(QueueSweeps { publish, stale, published_at: since })
            }
            _ => None,
        })
    }

    /// Returns the contract as a lane with an external queue runs it.
    #[must_use]
    pub fn with_queue(mut self) -> Self {
        self.queued = true;
        self
    }

    /// Returns [`Self::handoff`] if the lane has an external queue, else `None`.
    pub fn queue_of(&self, stage: &Stage) -> Option<QueueSweeps<'_>> {
        self.handoff(stage).filter(|_| self.queued)
    }

    /// Returns the move that only sets or clears the publication time: the row was published, or the queue turned out
    /// not to have it.
    pub fn publication_move<'a>(&self, stage: &'a Stage, state: &'a StateId) -> Move<'a> {
        Move {
            stage,
            transition: Transition::Swept,
            from: std::slice::from_ref(state),
            to: None,
            sweep: None,
        }
    }

    /// Returns the assignments that set the publication time (`published`) or clear it.
    pub fn published_at_assignments(&self, published_at: &str, published: bool) -> Vec<Assignment> {
        let mut list = Assignments::default();
        list.put(published_at, if published { Set::Now } else { Set::Null });
        self.put_role(ColumnRole::Version, Set::Increment, &mut list);
        self.put_role(ColumnRole::Updated, Set::Now, &mut list);
        list.into()
    }

    /// Clears the publication time where the row becomes ready again: the queue has no pointer to it.
    pub(crate) fn assign_published_at(&self, step: &Move<'_>, list: &mut Assignments) {
        let Some(handoff) = self.queue_of(step.stage) else { return };
        let back = match step.transition {
            Transition::Retry | Transition::Deferred | Transition::Released | Transition::Requeued => true,
            Transition::Reclaimed => step.to == Some(step.stage.retryable),
            _ => false,
        };
        if back {
            list.put_new(handoff.published_at, Set::Null);
        }
    }
}
