//! Makes a move: one transaction for the `_META` record and the records of the states.

use std::time::Duration;

use postrider_contract::{ClaimedState, ColumnRole, Condition, Literal, Move, StateId, Transition};
use postrider_rows::{Row, TransitionInput, apply_transition, int, state_of};
use postrider_seams::Value;
use postrider_seams::row::Detail;
use postrider_seams::store::Error;

use crate::layout;
use crate::record::Record;
use crate::requests::WriteResult;
use crate::statement::{PartiqlStatement, text};
use crate::store::DynamoStore;

/// Microseconds by which a record's time may be ahead of the clock and still be incremented.
const MAX_AHEAD: i64 = 60_000_000;

/// The effect of a move on the records of the states left and reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HistoryChange {
    /// The state is reached for the first time: its record is inserted.
    Forward,
    /// The move leads back to a state that has a record. With `forget` the record of the state left is deleted, so that
    /// it can be reached again.
    Back { forget: bool },
}

impl DynamoStore {
    pub(crate) fn transition_input<'a>(
        &'a self,
        no_detail: &'a Detail,
        reason: Option<&'a str>,
    ) -> TransitionInput<'a> {
        TransitionInput {
            now: self.database.clock.now(),
            worker: &self.worker,
            delay: Duration::ZERO,
            reason,
            receipt: None,
            envelope: no_detail,
            outcome: no_detail,
        }
    }

    /// Makes the move; returns the new record, or `None` if the record is no longer as `before` says.
    pub(crate) async fn apply_move(
        &self,
        step: &Move<'_>,
        before: &Record,
        input: &TransitionInput<'_>,
    ) -> Result<Option<Record>, Error> {
        self.apply_move_with(step, before, input, None).await
    }

    /// Makes the move with one more statement in its transaction.
    pub(crate) async fn apply_move_with(
        &self,
        step: &Move<'_>,
        before: &Record,
        input: &TransitionInput<'_>,
        also: Option<&PartiqlStatement>,
    ) -> Result<Option<Record>, Error> {
        let mut row = apply_transition(&self.contract, step, &before.row, input, &mut 0);
        self.advance_updated_at(&before.row, &mut row, input.now);
        debug_assert!(
            step.to.is_none() || state_of(&self.contract, &row) == step.to,
            "a move's writes satisfy its target"
        );
        let ttl = self.ttl_after(step, before, input.now);
        let within = self.stage().lease.duration / 4;
        let history_change = self.history_change(step, &before.row, &row);
        self.update_reached_at(step, &before.row, &mut row, history_change == HistoryChange::Forward);
        let others = self.records_with_old_ttl(before, &row, ttl, history_change).await?;
        for flipped in [false, true] {
            let mut statements = self.statements(before, &row, ttl, input.reason, history_change, flipped);
            statements.extend(others.iter().map(|state| self.target.set_ttl(&before.id, state, ttl)));
            statements.extend(also.cloned());
            match self.database.write(step.transition.name(), &statements, within).await? {
                WriteResult::Done => return Ok(Some(self.after(before, row, ttl))),
                // The `_META` record comes first: its condition alone decides whether the move is allowed.
                WriteResult::Refused(which) if which.first() == Some(&true) => return Ok(None),
                // The state's record exists although none was expected, or the other way round.
                WriteResult::Refused(_) => {}
            }
        }
        Ok(None)
    }

    pub(crate) fn after(&self, before: &Record, row: Row, ttl: Option<i64>) -> Record {
        let updated = int(row.get(&self.layout.updated).unwrap_or(&Value::Null)).map(layout::time).map(text);
        Record { id: before.id.clone(), row, updated, ttl, legacy_ttl: false }
    }

    /// Sets the time of the move, later than that of the previous one: it distinguishes claims. A previous time far
    /// ahead of the clock is not incremented, because the lease would last until then; the new time differs from it
    /// anyway.
    pub(crate) fn advance_updated_at(&self, before: &Row, after: &mut Row, now: i64) {
        let old = before.get(&self.layout.updated).and_then(int);
        let followed = old.filter(|old| (now..=now + MAX_AHEAD).contains(old));
        after.insert(self.layout.updated.clone(), Value::Int(followed.map_or(now, |old| old + 1)));
    }

    /// Returns the states whose records need the new time to live, because they would otherwise outlive `_META`.
    async fn records_with_old_ttl(
        &self,
        before: &Record,
        after: &Row,
        ttl: Option<i64>,
        history_change: HistoryChange,
    ) -> Result<Vec<String>, Error> {
        if before.ttl == ttl && !before.legacy_ttl {
            return Ok(Vec::new());
        }
        let (items, _) = self
            .database
            .select("read the records", &self.target.all_records(&before.id), None, None)
            .await?;
        let status = |row: &Row| row.get(&self.layout.status).and_then(Value::as_text).map(str::to_owned);
        // The move itself writes or deletes these.
        let mut written = vec![Some(layout::META.to_owned()), status(after)];
        if history_change == (HistoryChange::Back { forget: true }) {
            written.push(status(&before.row));
        }
        let states = items.iter().filter_map(|item| item.get(layout::STATUS)?.as_s().ok().cloned());
        Ok(states.filter(|state| !written.contains(&Some(state.clone()))).collect())
    }

    fn statements(
        &self,
        before: &Record,
        row: &Row,
        ttl: Option<i64>,
        reason: Option<&str>,
        history_change: HistoryChange,
        flipped: bool,
    ) -> Vec<PartiqlStatement> {
        let status =
            |row: &Row| row.get(&self.layout.status).and_then(Value::as_text).unwrap_or_default().to_owned();
        let mut statements = vec![self.target.update_meta(&self.layout, before, row, ttl)];
        if history_change == (HistoryChange::Back { forget: true }) {
            statements.push(self.target.delete(&before.id, &status(&before.row)));
        }
        let history = Record::history(&self.layout, row, reason);
        let insert = (history_change == HistoryChange::Forward) != flipped;
        statements.push(if insert {
            self.target.insert(&before.id, &status(row), history, ttl)
        } else {
            self.target.update(&before.id, &status(row), history, ttl)
        });
        statements
    }

    fn history_change(&self, step: &Move<'_>, before: &Row, after: &Row) -> HistoryChange {
        let status = |row: &Row| row.get(&self.layout.status).cloned();
        if status(before) == status(after) {
            return HistoryChange::Back { forget: false };
        }
        let ready = step
            .stage
            .ready
            .iter()
            .any(|ready| Some(self.status_of(*ready)) == status(after).as_ref().and_then(Value::as_text));
        let operators = step.transition == Transition::Requeued;
        match (ready, operators) {
            // Keep the record of the failed state after a requeue.
            (_, true) => HistoryChange::Back { forget: false },
            (true, false) => HistoryChange::Back { forget: true },
            (false, false) => HistoryChange::Forward,
        }
    }

    /// Returns the value of `Latest` in a state.
    pub(crate) fn status_of(&self, state: StateId) -> &str {
        let conditions = &self.contract.state(state).conditions;
        let text = conditions.iter().find_map(|(column, condition)| match condition {
            Condition::Is(Literal::Text(text)) if *column == self.layout.status => Some(text.as_str()),
            _ => None,
        });
        text.unwrap_or_default()
    }

    /// Returns the states of rows that a worker holds.
    pub(crate) fn claimed_states(&self) -> Vec<StateId> {
        match self.stage().claimed {
            ClaimedState::State(state) => vec![state],
            ClaimedState::Same => self.stage().ready.clone(),
        }
    }

    /// Returns the time to live after a move. It is kept; it is set if the target state has a retention and the record
    /// has no time to live; it is removed by a requeue if only the retention had set it.
    fn ttl_after(&self, step: &Move<'_>, before: &Record, now: i64) -> Option<i64> {
        let rule = |state: Option<StateId>| {
            let rules = self.contract.retention.iter();
            state.and_then(|state| rules.clone().find(|rule| rule.state == state))
        };
        let seconds = |micros: i64, rule: &postrider_contract::Retention| {
            micros / 1_000_000 + i64::try_from(rule.after.as_secs()).unwrap_or(i64::MAX / 4)
        };
        let was = before.row.get(&self.layout.updated).and_then(int);
        let set_by_retention = rule(state_of(&self.contract, &before.row))
            .zip(was)
            .is_some_and(|(rule, since)| before.ttl == Some(seconds(since, rule)));
        let kept = before.ttl.filter(|_| !(set_by_retention && step.transition == Transition::Requeued));
        kept.or_else(|| rule(step.to).map(|rule| seconds(now, rule)))
    }

    /// Returns the time in the role's column of a record.
    pub(crate) fn time(&self, record: &Record, role: ColumnRole) -> Option<i64> {
        record.row.get(self.contract.column(role)?).and_then(int)
    }
}
