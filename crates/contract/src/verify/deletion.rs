//! Checks that nothing needs what a deleted row no longer has: its state, its columns, its place in a group.

use crate::{Expr, GroupMode, Transition};

use super::moves::write_key;
use super::{Verifier, key};

impl Verifier<'_> {
    pub(super) fn deletion(&self) {
        for write in &self.contract.writes {
            if !write.on.is_empty() && write.on.iter().all(|on| self.always_deletes(*on)) {
                let what = "has no effect: the transition deletes the row";
                self.report.add_for_key(
                    &write_key(write),
                    what,
                    "remove it, or insert the value with an [[effect]]",
                );
            }
        }
        for (index, effect) in self.contract.effects.iter().enumerate() {
            let Some(on) = effect.on.iter().find(|on| self.may_delete(**on)) else { continue };
            for (column, _) in effect.values.iter().filter(|(_, value)| reads_state(value)) {
                let what = format!("the transition `{on}` deletes the row, so that it has no `$state`");
                let at = format!("effect.{}.values.{column}", index + 1);
                self.report.add_for_key(&at, what, "write a text in an [[effect]] of its own for it");
            }
        }
        let blocks = self.contract.group.as_ref().is_some_and(|group| group.allows(GroupMode::Block));
        for stage in self.contract.stages.iter().filter(|_| blocks) {
            for (at, end) in [("dead", stage.dead), ("rejected", stage.rejected)] {
                if self.contract.state(end).deletes && self.report.has_key(&key(stage, at)) {
                    let what = "\"delete\" cannot be combined with group.on_error = \"block\": a deleted row holds nothing";
                    self.report.add_for_key(
                        &key(stage, at),
                        what,
                        "name a state, or write on_error = \"wait\"",
                    );
                }
            }
        }
    }

    fn may_delete(&self, on: Transition) -> bool {
        let deletes = |stage| self.contract.deletes(&self.contract.lease_move(stage, on));
        self.contract.stages.iter().any(deletes)
            || (on == Transition::Swept && self.sweeps_delete())
            || (on == Transition::Reclaimed && self.sweeps_delete())
    }

    /// Whether rows without attempts left are deleted.
    fn sweeps_delete(&self) -> bool {
        self.contract.stages.iter().any(|stage| self.contract.state(stage.dead).deletes)
    }

    fn always_deletes(&self, on: Transition) -> bool {
        self.contract.stages.iter().all(|stage| self.contract.deletes(&self.contract.lease_move(stage, on)))
    }
}

fn reads_state(value: &Expr) -> bool {
    match value {
        Expr::State => true,
        Expr::Json(members) => members.iter().any(|(_, value)| reads_state(value)),
        _ => false,
    }
}
