//! Ordered groups: which rows keep their order, and what a row does to those of its group behind it.

use crate::{Claimed, Group, Hold, OnError, Stage, StateId, Transition};

impl Hold {
    pub fn name(self) -> &'static str {
        match self {
            Self::Parallel => "parallel",
            Self::Next => "next",
            Self::Wait => "wait",
            Self::Block => "block",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Parallel, Self::Next, Self::Wait, Self::Block].into_iter().find(|hold| hold.name() == name)
    }
}

impl Group {
    /// Does any row of it keep an order?
    pub fn keeps_order(&self) -> bool {
        self.on_error != OnError::Always(Hold::Parallel)
    }

    /// What a row says whose mode column holds `value`.
    pub fn hold(&self, value: Option<&str>) -> Hold {
        match &self.on_error {
            OnError::Always(hold) => *hold,
            OnError::ByColumn { values, .. } => {
                value.and_then(|value| values.get(value)).copied().unwrap_or(Hold::Block)
            }
        }
    }

    /// May a row of it have this mode?
    pub fn may(&self, hold: Hold) -> bool {
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
    /// The states in which a row of this mode can hold back those behind it.
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

    /// Where a row ends that only an operator can help: a blocking group waits for it. What was skipped needs nobody.
    pub fn stopped(&self) -> Vec<StateId> {
        let mut states = vec![self.dead];
        if self.rejected != self.dead {
            states.push(self.rejected);
        }
        states
    }

    /// Does a row of this mode hold back those behind it after this end of its claim?
    pub fn holds(&self, hold: Hold, transition: Transition) -> bool {
        match (hold, transition) {
            (Hold::Parallel, _) | (_, Transition::Delivered) => false,
            // Never tried, so it is still the first.
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
