//! Adapts a contract to the columns that a table has.

use std::collections::BTreeSet;
use std::fmt;

use crate::{
    Absent, ClaimOrder, Column, ColumnRole, Condition, Contract, Defer, Expr, MessageValue, OnError,
    OperatorMove, OrderBy, Schedule, Stage, StateId, When,
};

/// A column that the contract requires and the table lacks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    pub column: String,
    /// The contract key that requires it.
    pub needed_by: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {} is missing: the contract's `{}` needs it", self.column, self.needed_by)
    }
}

impl Contract {
    /// Returns the contract as this table can run it: without the absent optional columns and everything that needs
    /// them.
    ///
    /// Without `lease_until` a lease lasts [`crate::LeaseRule::without`]; without a due column rows are due by the time of
    /// their last change; without an attempts column attempts are counted in the history. An optional stage whose
    /// states are no longer distinct is dropped, unless an attempts column distinguishes its dead rows from its ready
    /// ones. Returns the missing required columns as the error.
    pub fn resolve(&self, present: &BTreeSet<String>) -> Result<Self, Vec<Missing>> {
        let has = |name: &str| present.contains(name);
        let mut missing: BTreeSet<Missing> = BTreeSet::new();
        for (column, needed_by) in self.required() {
            if !has(&column) {
                missing.insert(Missing { column, needed_by });
            }
        }
        let mut contract = self.clone();
        contract.drop_columns(&has);
        contract.drop_states(&has, &mut missing);
        for (index, sweep) in contract.sweeps.iter().enumerate() {
            if let Some(column) = sweep.when.column().filter(|column| !has(column)) {
                missing.insert(Missing { column: column.to_owned(), needed_by: sweep.path(index) });
            }
        }
        if missing.is_empty() { Ok(contract) } else { Err(missing.into_iter().collect()) }
    }

    /// Returns the columns that the table must have, each with the key that requires it.
    fn required(&self) -> Vec<(String, String)> {
        let mut found = vec![(self.table.id.clone(), "table.id".to_owned())];
        let mut need = |column: &str, key: String| found.push((column.to_owned(), key));
        for (role, column) in &self.columns.0 {
            // If no history counts attempts either, a row would be retried forever without this column.
            let counts = *role == ColumnRole::Attempts && self.history.is_none();
            if !column.optional || counts {
                need(&column.name, format!("columns.{role}"));
            }
        }
        for (field, value) in &self.message {
            let required = value.columns().into_iter().filter(|column| !column.optional);
            required.for_each(|column| need(&column.name, format!("message.{field}")));
        }
        let optional = self.optional_names();
        let mut need = |column: &str, key: String| {
            if !optional.contains(column) {
                found.push((column.to_owned(), key));
            }
        };
        for state in &self.states {
            state.conditions.iter().for_each(|(column, _)| need(column, format!("states.{}", state.name)));
        }
        self.claim.filter.iter().for_each(|(column, _)| need(column, "claim.where".to_owned()));
        self.claim.order.iter().for_each(|order| match &order.by {
            OrderBy::Role(_) => {}
            OrderBy::Column(column) => need(column, "claim.order".to_owned()),
        });
        self.claim.fair.iter().filter(|fair| !fair.optional).for_each(|fair| {
            need(&fair.name, "claim.fair".to_owned());
        });
        if let Some(group) = &self.group {
            need(&group.by, "group.by".to_owned());
            group.sequence.iter().for_each(|column| need(column, "group.sequence".to_owned()));
            if let OnError::ByColumn { column, .. } = &group.on_error {
                need(column, "group.on_error".to_owned());
            }
        }
        for stage in &self.stages {
            stage.retry_rule.column.iter().for_each(|column| need(column, "retry.column".to_owned()));
        }
        for (index, sweep) in self.sweeps.iter().enumerate() {
            let key = match &sweep.when {
                When::OlderThan { .. } => "since",
                When::At { .. } => "at",
                When::Before { .. } => "before",
                When::Always => continue,
            };
            if let Some(column) = sweep.when.column() {
                need(column, format!("{}.{key}", sweep.path(index)));
            }
        }
        for retention in &self.retention {
            let name = &self.state(retention.state).name;
            retention.since.iter().for_each(|column| need(column, format!("retention.{name}")));
        }
        self.required_by_values(&mut found);
        found
    }

    fn required_by_values(&self, found: &mut Vec<(String, String)>) {
        for (index, sweep) in self.sweeps.iter().enumerate() {
            for (column, _) in sweep.writes.iter().filter(|(column, _)| !column.optional) {
                found.push((column.name.clone(), format!("{}.write", sweep.path(index))));
            }
        }
        for write in self.writes.iter().filter(|write| !write.column.optional) {
            found.push((write.column.name.clone(), "write".to_owned()));
            row_columns(&write.value, "write", found);
        }
        for (index, effect) in self.effects.iter().enumerate() {
            effect
                .values
                .iter()
                .for_each(|(_, value)| row_columns(value, &format!("effect.{}.values", index + 1), found));
        }
        for count in &self.counts {
            let own = count.same.iter().chain(count.within.iter().map(|(_, since)| since));
            found.extend(own.map(|column| (column.clone(), format!("count.{}", count.field))));
        }
        found.extend(
            self.due.retry_after.iter().map(|asked| (asked.column.clone(), "due.retry_after".to_owned())),
        );
        for join in &self.joins {
            for (_, (side, column)) in join.on.iter().filter(|(_, (side, _))| side == "row") {
                found.push((column.clone(), format!("join.{}.on.{side}", join.alias)));
            }
        }
    }

    /// Returns the names of the columns that the table may lack.
    fn optional_names(&self) -> BTreeSet<String> {
        let roles = self.columns.0.values();
        let fields = self.message.values().flat_map(MessageValue::columns);
        let written = self.writes.iter().map(|write| &write.column);
        roles
            .chain(fields)
            .chain(written)
            .filter(|column| column.optional)
            .map(|column| column.name.clone())
            .collect()
    }

    fn drop_columns(&mut self, has: &impl Fn(&str) -> bool) {
        let gone = |column: &Column| column.optional && !has(&column.name);
        let lacks = |contract: &Self, role: ColumnRole| contract.columns.0.get(&role).is_some_and(gone);
        if lacks(self, ColumnRole::LeaseUntil) {
            self.stages
                .iter_mut()
                .for_each(|stage| stage.lease.duration = stage.lease.duration_without_lease_until);
        }
        if lacks(self, ColumnRole::Due) {
            self.due_by_last_change();
        }
        if lacks(self, ColumnRole::Attempts) {
            self.stages.iter_mut().for_each(|stage| stage.untried = None);
        }
        self.columns.0.retain(|_, column| !gone(column));
        self.claim.fair = self.claim.fair.take().filter(|fair| !gone(fair));
        self.message.retain(|_, value| value.without(&gone));
        self.writes.retain(|write| !gone(&write.column));
        self.sweeps.iter_mut().for_each(|sweep| sweep.writes.retain(|(column, _)| !gone(column)));
        // Sweeps are identified by their position in the list, so only the last ones can be removed.
        while self.sweeps.last().and_then(|last| last.when.column()).is_some_and(|column| !has(column)) {
            self.sweeps.pop();
        }
        self.retention.iter_mut().for_each(|retention| retention.since.retain(|column| has(column)));
        let columns = self.columns.clone();
        self.claim.order.retain(|order| match &order.by {
            OrderBy::Role(role) => *role == ColumnRole::Id || columns.get(*role).is_some(),
            OrderBy::Column(_) => true,
        });
        if !self.claim.order.iter().any(|order| order.is_by(ColumnRole::Id)) {
            self.claim.order.push(ClaimOrder::of(ColumnRole::Id));
        }
    }

    /// Computes the due time without a due column: the last change + the delay for the attempts so far, without jitter.
    fn due_by_last_change(&mut self) {
        let since = [ColumnRole::Attempted, ColumnRole::Updated, ColumnRole::ClaimedAt];
        self.due.after = self.due.after.or(since.into_iter().find(|role| self.columns.get(*role).is_some()));
        if self.due.defer == Defer::Due {
            self.due.defer = Defer::None;
        }
        for stage in &mut self.stages {
            match &mut stage.retry_rule.schedule {
                Schedule::Exponential { jitter, .. } | Schedule::Delays { jitter, .. } => *jitter = 0.0,
            }
        }
    }

    /// Removes conditions on absent columns. Such a column reads as NULL, so a condition on it holds always or never.
    /// States that have become impossible are removed with the stages and moves that need them.
    fn drop_states(&mut self, has: &impl Fn(&str) -> bool, missing: &mut BTreeSet<Missing>) {
        let mut impossible: Vec<(StateId, String)> = Vec::new();
        for (index, state) in self.states.iter_mut().enumerate() {
            state.conditions.retain(|(column, condition)| {
                let keep = has(column);
                let holds = matches!(condition, Condition::Null(true) | Condition::Never(false));
                if !keep && !holds {
                    impossible.push((StateId(index), column.clone()));
                }
                keep
            });
        }
        if impossible.is_empty() {
            return;
        }
        self.merge_dead_states(&impossible);
        let states = &self.states;
        self.stages.retain(|stage| {
            let Some((state, column)) = impossible.iter().find(|(state, _)| stage.uses(*state)) else {
                return true;
            };
            if !stage.optional {
                let needed_by = format!("states.{}", states[state.0].name);
                missing.insert(Missing { column: column.clone(), needed_by });
            }
            !stage.optional
        });
        let gone: BTreeSet<StateId> = impossible.into_iter().map(|(state, _)| state).collect();
        if missing.is_empty() {
            self.remove_states(&gone);
        }
    }

    /// Replaces a dead state that is no longer distinct from the state before it by that state. Only the attempts
    /// column then shows that a row is finished, and no lane claims it. A requeue leads from the state to itself.
    fn merge_dead_states(&mut self, impossible: &[(StateId, String)]) {
        let gone = |state: StateId| impossible.iter().any(|(known, _)| *known == state);
        for stage in self.stages.iter_mut().filter(|stage| stage.optional && !gone(stage.retryable)) {
            let back = stage.retryable;
            for end in [&mut stage.dead, &mut stage.rejected, &mut stage.skipped] {
                if !gone(*end) {
                    continue;
                }
                let moves = self.requeue.iter_mut().flat_map(|requeue| &mut requeue.moves);
                moves.filter(|(from, _)| *from == *end).for_each(|(from, _)| *from = back);
                *end = back;
            }
        }
    }

    fn remove_states(&mut self, gone: &BTreeSet<StateId>) {
        let kept: Vec<StateId> =
            (0..self.states.len()).map(StateId).filter(|state| !gone.contains(state)).collect();
        let moved = |old: StateId| kept.iter().position(|state| *state == old).map(StateId);
        self.producer = self.producer.iter().filter_map(|state| moved(*state)).collect();
        for stage in &mut self.stages {
            stage.rename_states(&moved);
        }
        self.sweeps.retain_mut(|sweep| {
            sweep.from = sweep.from.iter().filter_map(|state| moved(*state)).collect();
            let to = moved(sweep.to);
            sweep.to = to.unwrap_or(sweep.to);
            to.is_some() && !sweep.from.is_empty()
        });
        for operator_move in [&mut self.cancel, &mut self.requeue, &mut self.complete] {
            *operator_move = operator_move.take().map(|moves| OperatorMove {
                moves: moves
                    .moves
                    .iter()
                    .filter_map(|(from, to)| Some((moved(*from)?, moved(*to)?)))
                    .collect(),
            });
        }
        self.counts.retain_mut(|count| {
            let state = moved(count.state);
            count.state = state.unwrap_or(count.state);
            state.is_some()
        });
        self.retention.retain_mut(|retention| {
            let state = moved(retention.state);
            retention.state = state.unwrap_or(retention.state);
            state.is_some()
        });
        self.states = kept.iter().map(|state| self.states[state.0].clone()).collect();
    }
}

impl Stage {
    fn states_mut(&mut self) -> impl Iterator<Item = &mut StateId> {
        let claimed = match &mut self.claimed {
            crate::ClaimedState::State(state) => Some(state),
            crate::ClaimedState::Same => None,
        };
        let ends =
            [&mut self.delivered, &mut self.retryable, &mut self.dead, &mut self.rejected, &mut self.skipped];
        self.ready.iter_mut().chain(claimed).chain(ends)
    }

    fn uses(&self, state: StateId) -> bool {
        self.clone().states_mut().any(|known| *known == state)
    }

    fn rename_states(&mut self, moved: &impl Fn(StateId) -> Option<StateId>) {
        for state in self.states_mut() {
            *state = moved(*state).expect("a stage with a state that is gone was dropped before");
        }
    }
}

/// Collects the columns of the row that a value reads and that must exist.
fn row_columns(value: &Expr, key: &str, found: &mut Vec<(String, String)>) {
    match value {
        Expr::Row { column, absent: Absent::Required } => found.push((column.clone(), key.to_owned())),
        Expr::Json(members) => members.iter().for_each(|(_, value)| row_columns(value, key, found)),
        _ => {}
    }
}
