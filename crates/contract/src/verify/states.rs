//! Checks that no row can be in two states.

use crate::{Condition, Literal, State};

use super::Verifier;

impl Verifier<'_> {
    pub(super) fn states(&self) {
        let states = &self.contract.states;
        for (index, state) in states.iter().enumerate().filter(|(_, state)| !state.deletes) {
            let others = states[..index].iter().filter(|other| !other.deletes);
            for other in others.filter(|other| overlap(state, other)) {
                let key = self.key_of(crate::StateId(index));
                let what = format!("a row can be in `{}` and in `{}` at once", other.name, state.name);
                self.report.add_for_key(&key, what, "give the two states different values in a column");
            }
        }
    }
}

/// Whether one row can satisfy both. Only conditions on the same column can exclude each other.
pub(super) fn overlap(a: &State, b: &State) -> bool {
    a.conditions.iter().all(|(column, first)| {
        let shared = b.conditions.iter().filter(|(other, _)| other == column);
        shared.into_iter().all(|(_, second)| compatible(first, second))
    })
}

fn compatible(a: &Condition, b: &Condition) -> bool {
    match (a, b) {
        (Condition::Is(a), Condition::Is(b)) => same(a, b),
        (Condition::Null(a), Condition::Null(b)) | (Condition::Never(a), Condition::Never(b)) => a == b,
        // A column that holds a value or 9999-12-31 is not NULL.
        (Condition::Null(null), Condition::Is(_) | Condition::Never(true))
        | (Condition::Is(_) | Condition::Never(true), Condition::Null(null)) => !null,
        (Condition::Never(never), Condition::Is(_)) | (Condition::Is(_), Condition::Never(never)) => !never,
        (Condition::Never(false), Condition::Null(_)) | (Condition::Null(_), Condition::Never(false)) => true,
    }
}

/// Whether two literals are equal in a column, which has one type: `1` equals `"1"`.
fn same(a: &Literal, b: &Literal) -> bool {
    let text = |literal: &Literal| match literal {
        Literal::Bool(value) => i64::from(*value).to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Float(value) => value.to_string(),
        Literal::Text(value) => value.clone(),
    };
    text(a) == text(b)
}
