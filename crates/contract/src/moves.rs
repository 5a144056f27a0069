//! Moves: one transition of rows, with the states that it leads from and to.

use crate::{
    ClaimedState, ColumnRole, Condition, Contract, Defer, LeaseBy, Stage, StateId, Sweep, Transition,
};

/// One transition of rows that are in any of the states `from`. `to` is `None` where the state does not change.
#[derive(Debug, Clone, Copy)]
pub struct Move<'a> {
    pub stage: &'a Stage,
    pub transition: Transition,
    pub from: &'a [StateId],
    pub to: Option<StateId>,
    /// The contract's sweep that makes this move; `None` for the built-in sweep of rows without attempts left.
    pub sweep: Option<&'a Sweep>,
}

impl Contract {
    /// Returns the move that starts or ends a claim. A row that is deferred by its lock stays in the claimed state.
    pub fn lease_move<'a>(&self, stage: &'a Stage, transition: Transition) -> Move<'a> {
        let claimed = match &stage.claimed {
            ClaimedState::State(held) => std::slice::from_ref(held),
            ClaimedState::Same => stage.ready.as_slice(),
        };
        let locks = transition == Transition::Deferred && self.due.defer == Defer::Lease;
        let from = if transition == Transition::Claimed { stage.ready.as_slice() } else { claimed };
        Move { stage, transition, from, to: if locks { None } else { stage.target(transition) }, sweep: None }
    }

    /// Returns the move of an expired lease to `to`: `stage.retryable`, or `stage.dead` if no attempts are left.
    pub fn reclaim_move<'a>(&self, stage: &'a Stage, to: StateId) -> Move<'a> {
        Move { to: Some(to), ..self.lease_move(stage, Transition::Reclaimed) }
    }

    /// Returns the claim time column if claimed rows may have NULL there, and leases are counted from it.
    ///
    /// Such rows were claimed by another program before the column existed. They get the time at which they are first
    /// seen.
    pub fn nullable_claim_time(&self, stage: &Stage) -> Option<&str> {
        let ClaimedState::State(held) = stage.claimed else { return None };
        let column = self.column(ColumnRole::ClaimedAt).filter(|_| stage.lease.by == LeaseBy::Time)?;
        if self.column(ColumnRole::Updated) == Some(column) {
            return None;
        }
        let is_condition = |(known, _): &(String, Condition)| known == column;
        (!self.state(held).conditions.iter().any(is_condition)).then_some(column)
    }

    /// Returns the move of ready rows that have no attempts left to the stage's dead state.
    pub fn exhausted_move<'a>(&self, stage: &'a Stage) -> Move<'a> {
        Move { stage, transition: Transition::Swept, from: &stage.ready, to: Some(stage.dead), sweep: None }
    }

    /// Returns the move of one of the contract's own sweeps.
    pub fn sweep_move<'a>(&self, stage: &'a Stage, sweep: &'a Sweep) -> Move<'a> {
        Move {
            stage,
            transition: Transition::Swept,
            from: &sweep.from,
            to: Some(sweep.to),
            sweep: Some(sweep),
        }
    }

    /// Returns the move for one `from`/`to` pair of an operator's transition: `Requeued`, `Cancelled` or `Completed`.
    pub fn operator_move<'a>(
        &self,
        stage: &'a Stage,
        transition: Transition,
        (from, to): &'a (StateId, StateId),
    ) -> Move<'a> {
        Move { stage, transition, from: std::slice::from_ref(from), to: Some(*to), sweep: None }
    }

    /// Whether this move takes the row into another stage, where its counters start again.
    pub fn enters_another_stage(&self, step: &Move<'_>) -> bool {
        let Some(to) = step.to else { return false };
        // An expired lease, or a row without attempts left, ends a stage just as a settle does.
        let ends = match step.transition {
            Transition::Reclaimed => true,
            Transition::Swept => step.sweep.is_none(),
            other => other == Transition::Delivered || other.is_failure(),
        };
        let own = step.stage.ready.contains(&to) || step.stage.retryable == to;
        ends && !own && self.stages.iter().any(|stage| stage.ready.contains(&to))
    }
}
