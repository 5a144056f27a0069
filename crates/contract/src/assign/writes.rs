//! Assignments that the contract itself defines: `[write]`, and `write` of a sweep.

use crate::{Absent, Contract, Expr, Literal, Move, Set, Transition};

use super::Assignments;

impl Contract {
    /// Adds the contract's own writes: those of `failed`, then those of one transition, then those of the sweep.
    pub(super) fn assign_writes(&self, step: &Move<'_>, list: &mut Assignments) {
        let spent = step.transition == Transition::Swept && step.sweep.is_none();
        let mut put = |column: &str, value: &Expr| {
            let value = self.without_outcome(step, value);
            let set = match value {
                value if spent => Set::ExprIfNull(value),
                value if value.keeps_column() => Set::ExprOrKeep(value),
                value => Set::Expr(value),
            };
            list.put(column, set);
        };
        let (shared, own): (Vec<_>, Vec<_>) = self
            .writes
            .iter()
            .filter(|write| write.on.contains(&step.transition))
            .partition(|write| write.on.len() > 1);
        shared.into_iter().chain(own).for_each(|write| put(&write.column.name, &write.value));
        for (column, value) in step.sweep.iter().flat_map(|sweep| &sweep.writes) {
            put(&column.name, value);
        }
    }

    /// Replaces `$outcome` in moves without a delivery: the code is the cause, the message the reason, the rest NULL.
    fn without_outcome(&self, step: &Move<'_>, value: &Expr) -> Expr {
        let code = match (step.transition, step.to) {
            (Transition::Reclaimed, _) => "lease_expired",
            (Transition::Swept, Some(to)) => self.state(to).name.as_str(),
            _ => return value.clone(),
        };
        match value {
            Expr::Outcome { field, .. } if field == "code" => Expr::Literal(Literal::Text(code.to_owned())),
            Expr::Outcome { field, .. } if field == "message" => Expr::Reason { absent: Absent::Keep },
            Expr::Outcome { .. } | Expr::Envelope { .. } => Expr::Null,
            Expr::Json(members) => Expr::Json(
                members
                    .iter()
                    .map(|(name, value)| (name.clone(), self.without_outcome(step, value)))
                    .collect(),
            ),
            other => other.clone(),
        }
    }
}

impl Expr {
    /// Whether the column keeps its current value if this value is absent (`or keep`).
    pub(crate) fn keeps_column(&self) -> bool {
        match self {
            Self::Reason { absent }
            | Self::Row { absent, .. }
            | Self::Envelope { absent, .. }
            | Self::Outcome { absent, .. } => *absent == Absent::Keep,
            _ => false,
        }
    }
}
