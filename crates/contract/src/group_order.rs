//! Group order: which rows keep their order, and when a row holds back later rows of its group.

use crate::{Claimed, Group, Hold, OnError, Stage, StateId, Transition};

impl Hold {
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

impl Group {
    /// Whether any row of a group can keep an order.
    pub fn keeps_order(&self) -> bool {
        self.on_error != OnError::Always(Hold::Parallel)
    }

    /// Returns the mode of a row whose mode column holds `value`. An unlisted value or NULL is `Block`.
    pub fn hold(&self, value: Option<&str>) -> Hold {
        match &self.on_error {
            OnError::Always(hold) => *hold,
            OnError::ByColumn { values, .. } => {
                value.and_then(|value| values.get(value)).copied().unwrap_or(Hold::Block)
            }
        }
    }

    /// Whether a row can have this mode.
    pub fn allows(&self, hold: Hold) -> bool {
        match &self.on_error {
            OnError::Always(always) => *always == hold,
            // An unlisted value is `Block`.
            OnError::ByColumn { values, .. } => {
                hold == Hold::Block || values.values().any(|one| *one == hold)
            }
        }
    }
}

impl Stage {
    /// Returns the states in which a row of this mode can hold back later rows of its group.
    pub fn live(&self, hold: Hold) -> Vec<StateId> {
        if hold == Hold::Parallel {
            return Vec::new();
        }
        let mut states = self.ready.clone();
        let mut add = |state| {
            if !states.contains(&state) {
                states.push(state);
            }
        };
        if let Claimed::State(claimed) = self.claimed {
            add(claimed);
        }
        if hold == Hold::Block {
            self.stopped().into_iter().for_each(add);
        }
        states
    }

    /// Returns the failed states that only an operator resolves: a blocking group waits there. Skipped rows do not
    /// block.
    pub fn stopped(&self) -> Vec<StateId> {
        let mut states = vec![self.dead];
        if self.rejected != self.dead {
            states.push(self.rejected);
        }
        states
    }

    /// Whether a row of this mode still holds back later rows after this transition ended its claim.
    pub fn holds(&self, hold: Hold, transition: Transition) -> bool {
        match (hold, transition) {
            (Hold::Parallel, _) | (_, Transition::Delivered) => false,
            // No attempt was made, so the row is still the first.
            (_, Transition::Deferred | Transition::Released) => true,
            (Hold::Next, _) => false,
            (_, Transition::Retry) => true,
            (Hold::Wait, _) => false,
            (Hold::Block, transition) => {
                self.target(transition).is_some_and(|state| self.stopped().contains(&state))
            }
        }
    }
}
