//! Checks that each move's assignments satisfy its target state and leave reserved columns alone.

use crate::{Condition, Contract, Count, Expr, Move, Role, Set, Stage, Transition};

use super::{Proof, key};

/// A move, and the key at which to report its problems.
type Blamed<'a> = (String, Move<'a>);

impl Proof<'_> {
    pub(super) fn moves(&self) {
        for (key, step) in all_moves(self.contract) {
            self.satisfies(&key, &step);
        }
        for stage in &self.contract.stages {
            self.untried(stage);
        }
        self.writes();
    }

    fn satisfies(&self, key: &str, step: &Move<'_>) {
        let Some(to) = step.to else { return };
        let assignments = self.contract.assignments(step);
        for (column, condition) in &self.contract.state(to).conditions {
            let set = assignments.iter().find(|one| one.column == *column).map(|one| &one.set);
            if self.makes(set, condition, column) {
                continue;
            }
            let wanted = match condition {
                Condition::Is(_) => "to hold its own value",
                Condition::Null(true) => "to be NULL",
                Condition::Null(false) => "to be set",
                Condition::Never(true) => "to be the end of time",
                Condition::Never(false) => "not to be the end of time",
            };
            let what = format!(
                "`{}` wants {column} {wanted}, and a row that is {} does not get that",
                self.name(to),
                step.transition
            );
            let remedy = if *condition == Condition::Null(false) {
                format!("add [write] {}.{column} = …, or take {column} out of the state", step.transition)
            } else {
                format!("take {column} out of the state, or lead elsewhere")
            };
            self.log.key(key, what, remedy);
        }
    }

    /// Checks that `untried` differs from `retry` only in literals, and that attempts (not claims) are counted.
    fn untried(&self, stage: &Stage) {
        let Some(untried) = stage.untried else { return };
        let retry = &self.contract.state(stage.retry).conditions;
        let is = |condition: &Condition| matches!(condition, Condition::Is(_));
        let alike = self.contract.state(untried).conditions.iter().all(|(column, condition)| {
            is(condition) && retry.iter().any(|(known, other)| known == column && is(other))
        });
        let counted = self.contract.column(Role::Attempts).is_some() && stage.attempts.count != Count::Claims;
        if !alike || !counted || !stage.ready.contains(&untried) {
            let what = "must be a ready state that differs from `retry` in literals alone, in a contract that counts \
                        attempts and not claims";
            self.log.key(&key(stage, "untried"), what, "leave it out: such rows then go to `retry`");
        }
    }

    fn makes(&self, set: Option<&Set>, condition: &Condition, column: &str) -> bool {
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
            Role::ALL.iter().any(|role| role.is_time() && self.contract.column(*role) == Some(column));
        match set {
            Set::Null | Set::ExprOrKeep(_) | Set::Reason | Set::Receipt => false,
            Set::NowIfNull => is_time,
            Set::Expr(value) | Set::ExprIfNull(value) => !matches!(
                value,
                Expr::Null
                    | Expr::Reason { .. }
                    | Expr::Row { .. }
                    | Expr::Envelope { optional: true, .. }
                    | Expr::Outcome { optional: true, .. }
            ),
            _ => true,
        }
    }

    /// Checks that no `[write]` sets a column that the state machine depends on.
    fn writes(&self) {
        let owned =
            [Role::Id, Role::Status, Role::Attempts, Role::Version, Role::ClaimedAt, Role::LeaseUntil];
        for write in &self.contract.writes {
            let column = write.column.name.as_str();
            if let Some(role) = owned.iter().find(|role| self.contract.column(**role) == Some(column)) {
                let what =
                    format!("{column} plays the role `{role}`: only the rules of the language write it");
                self.log.key(&write_key(write), what, "remove it");
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
pub(super) fn all_moves(contract: &Contract) -> Vec<Blamed<'_>> {
    let mut found: Vec<Blamed<'_>> = Vec::new();
    for stage in &contract.stages {
        for transition in std::iter::once(Transition::Claimed).chain(Transition::SETTLES) {
            let blamed = match transition {
                Transition::Deferred | Transition::Released => "retry",
                other => other.name(),
            };
            found.push((key(stage, blamed), contract.lease_move(stage, transition)));
        }
        found.push((key(stage, "retry"), contract.reclaim_move(stage, stage.retry)));
        found.push((key(stage, "dead"), contract.reclaim_move(stage, stage.dead)));
        found.push((key(stage, "dead"), contract.spent_move(stage)));
    }
    let Some(stage) = contract.stages.first() else { return found };
    for (index, sweep) in contract.sweeps.iter().enumerate() {
        found.push((format!("{}.to", sweep.path(index)), contract.sweep_move(stage, sweep)));
    }
    for (by_hand, transition, key) in [
        (&contract.requeue, Transition::Requeued, "requeue"),
        (&contract.cancel, Transition::Cancelled, "cancel"),
        (&contract.complete, Transition::Completed, "complete"),
    ] {
        for pair in by_hand.iter().flat_map(|by_hand| &by_hand.moves) {
            found.push((format!("{key}.to"), contract.operator_move(stage, transition, pair)));
        }
    }
    found
}
