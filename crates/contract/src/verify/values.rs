//! Checks that every value that a move writes, or its effects insert, is known when the move is made.

use crate::{Absent, Column, ColumnRole, Expr, Move, Transition};

use super::Verifier;
use super::moves::{all_moves, write_key};

impl Verifier<'_> {
    /// Checks that `$outcome` and `$envelope` are used only where a delivery was attempted.
    pub(super) fn values(&self) {
        for write in &self.contract.writes {
            if let Some(on) = write.on.iter().find(|on| !has_outcome(**on) && needs_outcome(&write.value)) {
                self.no_outcome(&write_key(write), *on);
            }
        }
        for (index, effect) in self.contract.effects.iter().enumerate() {
            if effect.on.is_empty() {
                self.report.add_for_key(
                    &format!("effect.{}.on", index + 1),
                    "is empty",
                    "name at least one transition",
                );
            }
            for (column, value) in &effect.values {
                let lacking = |on: &&Transition| !settles(**on) && needs_outcome(value);
                if let Some(on) = effect.on.iter().find(lacking) {
                    self.no_outcome(&format!("effect.{}.values.{column}", index + 1), *on);
                }
            }
        }
    }

    fn no_outcome(&self, key: &str, on: Transition) {
        let what = format!("`$outcome` and `$envelope` are absent in the transition `{on}`");
        self.report.add_for_key(key, what, "add ` or null` to the value, or remove the transition");
    }

    /// Checks that `$from` and `$claimed_at` are used only in moves that know them.
    pub(super) fn known_values(&self) {
        let mut known = Vec::new();
        for (_, step) in all_moves(self.contract) {
            for (key, value) in self.values_of(&step) {
                let problem = if holds(value, &Expr::From) && step.from.len() > 1 {
                    Some(self.several_origins(&step))
                } else if holds(value, &Expr::ClaimedAt) {
                    self.claimed_at_unknown(&step)
                } else {
                    None
                };
                let Some(what) = problem else { continue };
                if !known.contains(&(key.clone(), what.clone())) {
                    self.report.add_for_key(&key, what.clone(), "remove the transition or the value");
                    known.push((key, what));
                }
            }
        }
    }

    /// Returns the values of a move's writes and effects, each with the key at which to report it.
    fn values_of<'a>(&'a self, step: &Move<'a>) -> Vec<(String, &'a Expr)> {
        let on = step.transition;
        let writes = self.contract.writes.iter().filter(|write| write.on.contains(&on));
        let mut found: Vec<(String, &Expr)> = writes.map(|write| (write_key(write), &write.value)).collect();
        let index = |sweep| self.contract.sweeps.iter().position(|known| std::ptr::eq(known, sweep));
        if let Some((sweep, index)) = step.sweep.and_then(|sweep| Some((sweep, index(sweep)?))) {
            let key = |column: &Column| format!("{}.write.{}", sweep.path(index), column.name);
            found.extend(sweep.writes.iter().map(|(column, value)| (key(column), value)));
        }
        for (index, effect) in
            self.contract.effects.iter().enumerate().filter(|(_, one)| one.on.contains(&on))
        {
            let key = |column: &String| format!("effect.{}.values.{column}", index + 1);
            found.extend(effect.values.iter().map(|(column, value)| (key(column), value)));
        }
        found
    }

    fn several_origins(&self, step: &Move<'_>) -> String {
        let names: Vec<String> = step.from.iter().map(|from| format!("`{}`", self.name(*from))).collect();
        format!(
            "`$from` is unknown in the transition `{}`: rows come from {}",
            step.transition,
            names.join(", ")
        )
    }

    /// Returns why `$claimed_at` is unknown: a move that writes the column knows its old value only from the fence.
    fn claimed_at_unknown(&self, step: &Move<'_>) -> Option<String> {
        let Some(column) = self.contract.column(ColumnRole::ClaimedAt) else {
            return Some("no column has the role `claimed_at`".to_owned());
        };
        let written = self.contract.assignments(step).iter().any(|one| one.column == column);
        let fenced = settles(step.transition) && step.stage.lease.fence.contains(&ColumnRole::ClaimedAt);
        (written && !fenced).then(|| {
            format!(
                "`$claimed_at` is unknown in the transition `{}`: it writes {column}, and the fence does not contain it",
                step.transition
            )
        })
    }
}

/// Whether `value` contains `wanted`.
fn holds(value: &Expr, wanted: &Expr) -> bool {
    match value {
        Expr::Json(members) => members.iter().any(|(_, value)| holds(value, wanted)),
        other => other == wanted,
    }
}

fn settles(on: Transition) -> bool {
    Transition::SETTLES.contains(&on)
}

/// Whether a `[write]` on this transition has an outcome; sweeps and reclaims have a code and a message too.
fn has_outcome(on: Transition) -> bool {
    settles(on) || matches!(on, Transition::Swept | Transition::Reclaimed)
}

fn needs_outcome(value: &Expr) -> bool {
    match value {
        Expr::Envelope { absent, .. } | Expr::Outcome { absent, .. } => *absent == Absent::Required,
        Expr::Json(members) => members.iter().any(|(_, value)| needs_outcome(value)),
        _ => false,
    }
}
