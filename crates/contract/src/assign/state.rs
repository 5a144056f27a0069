//! Assignments that put a row into its target state.

use crate::{Condition, Contract, Literal, Move, Set, Transition};

use super::Assignments;

impl Contract {
    pub(super) fn assign_state(&self, step: &Move<'_>, list: &mut Assignments) {
        let Some(to) = step.to else { return };
        for state in step.from.iter().filter(|state| self.is_claimed(**state) && to != **state) {
            for (column, condition) in &self.state(*state).conditions {
                if *condition == Condition::Null(false) {
                    list.put(column, Set::Null);
                }
            }
        }
        for (column, condition) in &self.state(to).conditions {
            match condition {
                Condition::Is(literal) => list.put(column, self.literal_of(step, column, literal)),
                Condition::Null(true) => list.put(column, Set::Null),
                Condition::Never(true) => list.put(column, Set::Never),
                // The column must not be NULL: the rules for lease and due time write it, or its value is kept.
                Condition::Null(false) => list.put(column, Set::NowIfNull),
                Condition::Never(false) if self.may_be_never(step, column) => list.put(column, Set::Now),
                Condition::Never(false) => {}
            }
        }
    }

    /// Keeps the original state of a row that is released or deferred without an attempt (`stage.untried`).
    fn literal_of(&self, step: &Move<'_>, column: &str, literal: &Literal) -> Set {
        let back = matches!(step.transition, Transition::Deferred | Transition::Released);
        let untried = step.stage.untried.filter(|_| back && step.to == Some(step.stage.retryable));
        let kept = untried.and_then(|state| {
            let conditions = &self.state(state).conditions;
            conditions.iter().find_map(|(known, condition)| match condition {
                Condition::Is(kept) if known == column => Some(kept),
                _ => None,
            })
        });
        match kept {
            Some(kept) if kept != literal => Set::ByAttempts(kept.clone(), literal.clone()),
            _ => Set::Literal(literal.clone()),
        }
    }

    fn may_be_never(&self, step: &Move<'_>, column: &str) -> bool {
        let never = (column.to_owned(), Condition::Never(true));
        step.from.iter().any(|state| self.state(*state).conditions.contains(&never))
    }
}
