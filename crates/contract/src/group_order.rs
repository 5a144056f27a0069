//! Group order: which rows keep their order, and when a row holds back later rows of its group.

use crate::{ClaimedState, GroupMode, GroupRule, OnError, Stage, StateId, Transition};

impl GroupMode {
    /// Returns the name of this mode in contracts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parallel => "parallel",
            Self::Next => "next",
            Self::Wait => "wait",
            Self::Block => "block",
        }
    }

    /// Returns the mode of that name; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Parallel, Self::Next, Self::Wait, Self::Block].into_iter().find(|hold| hold.name() == name)
    }
}

impl GroupRule {
    /// Whether any row of a group can keep an order.
    pub fn keeps_order(&self) -> bool {
        self.on_error != OnError::Always(GroupMode::Parallel)
    }

    /// Returns the mode of a row whose mode column holds `value`. An unlisted value or NULL is `Block`.
    pub fn hold(&self, value: Option<&str>) -> GroupMode {
        match &self.on_error {
            OnError::Always(hold) => *hold,
            OnError::ByColumn { values, .. } => {
                value.and_then(|value| values.get(value)).copied().unwrap_or(GroupMode::Block)
            }
        }
    }

    /// Whether a row can have this mode.
    pub fn allows(&self, hold: GroupMode) -> bool {
        match &self.on_error {
            OnError::Always(always) => *always == hold,
            // An unlisted value is `Block`.
            OnError::ByColumn { values, .. } => {
                hold == GroupMode::Block || values.values().any(|one| *one == hold)
            }
        }
    }
}

impl Stage {
    /// Returns the states in which a row of this mode can hold back later rows of its group.
    pub fn blocking_states(&self, hold: GroupMode) -> Vec<StateId> {
        if hold == GroupMode::Parallel {
            return Vec::new();
        }
        let mut states = self.ready.clone();
        let mut add = |state| {
            if !states.contains(&state) {
                states.push(state);
            }
        };
        if let ClaimedState::State(claimed) = self.claimed {
            add(claimed);
        }
        if hold == GroupMode::Block {
            self.operator_states().into_iter().for_each(add);
        }
        states
    }

    /// Returns the failed states that only an operator resolves: a blocking group waits there. Skipped rows do not
    /// block.
    pub fn operator_states(&self) -> Vec<StateId> {
        let mut states = vec![self.dead];
        if self.rejected != self.dead {
            states.push(self.rejected);
        }
        states
    }

    /// Whether a row of this mode still holds back later rows after this transition ended its claim.
    pub fn holds(&self, hold: GroupMode, transition: Transition) -> bool {
        match (hold, transition) {
            (GroupMode::Parallel, _) | (_, Transition::Delivered) => false,
            // No attempt was made, so the row is still the first.
            (_, Transition::Deferred | Transition::Released) => true,
            (GroupMode::Next, _) => false,
            (_, Transition::Retry) => true,
            (GroupMode::Wait, _) => false,
            (GroupMode::Block, transition) => {
                self.target(transition).is_some_and(|state| self.operator_states().contains(&state))
            }
        }
    }
}
