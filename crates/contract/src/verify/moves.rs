//! Checks that each move's assignments satisfy its target state and leave reserved columns alone.

use crate::{Absent, AttemptCounting, ColumnRole, Condition, Contract, Expr, Move, Set, Stage, Transition};

use super::{Verifier, key};

/// A move, and the key at which to report its problems.
type Located<'a> = (String, Move<'a>);

impl Verifier<'_> {
    pub(super) fn moves(&self) {
        for (key, step) in all_moves(self.contract) {
            self.reaches_target(&key, &step);
        }
        for stage in &self.contract.stages {
            self.untried(stage);
        }
        self.writes();
    }

    fn reaches_target(&self, key: &str, step: &Move<'_>) {
        let Some(to) = step.to else { return };
        let assignments = self.contract.assignments(step);
        for (column, condition) in &self.contract.state(to).conditions {
            let set = assignments.iter().find(|one| one.column == *column).map(|one| &one.set);
            if self.fulfils(set, condition, column) {
                continue;
            }
            let wanted = match condition {
                Condition::Is(_) => "to have its value",
                Condition::Null(true) => "to be NULL",
                Condition::Null(false) => "to be set",
                Condition::Never(true) => "to be 9999-12-31",
                Condition::Never(false) => "not to be 9999-12-31",
            };
            let what = format!(
                "state `{}` requires {column} {wanted}, but the transition `{}` does not write it so",
                self.name(to),
                step.transition
            );
            let remedy = if *condition == Condition::Null(false) {
                format!("add {}.{column} = … to [write], or remove {column} from the state", step.transition)
            } else {
                format!("remove {column} from the state, or choose another state")
            };
            self.report.add_for_key(key, what, remedy);
        }
    }

    /// Checks that `untried` differs from `retry` only in literals, and that attempts (not claims) are counted.
    fn untried(&self, stage: &Stage) {
        let Some(untried) = stage.untried else { return };
        let retry = &self.contract.state(stage.retryable).conditions;
        let is = |condition: &Condition| matches!(condition, Condition::Is(_));
        let alike = self.contract.state(untried).conditions.iter().all(|(column, condition)| {
            is(condition) && retry.iter().any(|(known, other)| known == column && is(other))
        });
        let counted = self.contract.column(ColumnRole::Attempts).is_some()
            && stage.attempts.count != AttemptCounting::Claims;
        if !alike || !counted || !stage.ready.contains(&untried) {
            let what = "must be a ready state that differs from `retryable` only in values of columns, and attempts.count \
                        must not be \"claims\"";
            self.report.add_for_key(
                &key(stage, "untried"),
                what,
                "remove it: such rows then go to `retryable`",
            );
        }
    }

    fn fulfils(&self, set: Option<&Set>, condition: &Condition, column: &str) -> bool {
        match (condition, set) {
            (Condition::Is(wanted), Some(Set::Literal(literal) | Set::ByAttempts(_, literal))) => {
                wanted == literal
            }
            (Condition::Null(true), Some(Set::Null)) | (Condition::Never(true), Some(Set::Never)) => true,
            (Condition::Null(false), Some(set)) => self.is_set(set, column),
            // Only this assignment writes 9999-12-31, and a move out of such a state writes now.
            (Condition::Never(false), set) => set != Some(&Set::Never),
            _ => false,
        }
    }

    fn is_set(&self, set: &Set, column: &str) -> bool {
        let is_time =
            ColumnRole::ALL.iter().any(|role| role.is_time() && self.contract.column(*role) == Some(column));
        match set {
            Set::Null | Set::ExprOrKeep(_) | Set::Reason | Set::Receipt => false,
            Set::NowIfNull => is_time,
            Set::Expr(value) | Set::ExprIfNull(value) => !matches!(
                value,
                Expr::Null
                    | Expr::Reason { .. }
                    | Expr::Row { .. }
                    | Expr::Envelope { absent: Absent::Null | Absent::Keep, .. }
                    | Expr::Outcome { absent: Absent::Null | Absent::Keep, .. }
            ),
            _ => true,
        }
    }

    /// Checks that no `[write]` sets a column that the state machine depends on.
    fn writes(&self) {
        let owned = [
            ColumnRole::Id,
            ColumnRole::Status,
            ColumnRole::Attempts,
            ColumnRole::Version,
            ColumnRole::ClaimedAt,
            ColumnRole::LeaseUntil,
        ];
        for write in &self.contract.writes {
            let column = write.column.name.as_str();
            if let Some(role) = owned.iter().find(|role| self.contract.column(**role) == Some(column)) {
                let what = format!("{column} has the role `{role}`, which only Postrider writes");
                self.report.add_for_key(&write_key(write), what, "remove it");
            }
        }
    }
}

pub(super) fn write_key(write: &crate::Write) -> String {
    let on = if write.on.len() > 1 { "failed" } else { write.on.first().map_or("", |on| on.name()) };
    let mark = if write.column.optional { "?" } else { "" };
    format!("write.{on}.{}{mark}", write.column.name)
}

/// Returns every move of the contract.
pub(super) fn all_moves(contract: &Contract) -> Vec<Located<'_>> {
    let mut found: Vec<Located<'_>> = Vec::new();
    for stage in &contract.stages {
        for transition in std::iter::once(Transition::Claimed).chain(Transition::SETTLES) {
            let at = match transition {
                Transition::Retry | Transition::Deferred | Transition::Released => "retryable",
                other => other.name(),
            };
            found.push((key(stage, at), contract.lease_move(stage, transition)));
        }
        found.push((key(stage, "retryable"), contract.reclaim_move(stage, stage.retryable)));
        found.push((key(stage, "dead"), contract.reclaim_move(stage, stage.dead)));
        found.push((key(stage, "dead"), contract.exhausted_move(stage)));
    }
    let Some(stage) = contract.stages.first() else { return found };
    for (index, sweep) in contract.sweeps.iter().enumerate() {
        found.push((format!("{}.to", sweep.path(index)), contract.sweep_move(stage, sweep)));
    }
    for (operator_move, transition, key) in [
        (&contract.requeue, Transition::Requeued, "requeue"),
        (&contract.cancel, Transition::Cancelled, "cancel"),
        (&contract.complete, Transition::Completed, "complete"),
    ] {
        for pair in operator_move.iter().flat_map(|operator_move| &operator_move.moves) {
            found.push((format!("{key}.to"), contract.operator_move(stage, transition, pair)));
        }
    }
    found
}
