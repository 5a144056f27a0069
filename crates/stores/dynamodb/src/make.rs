//! Makes a move: one transaction for the `_META` record and the records of the states.

use std::time::Duration;

use postrider_contract::{Claimed, Condition, Literal, Move, Role, StateId, Transition};
use postrider_rows::{Given, Row, int, moved, state_of};
use postrider_seams::Value;
use postrider_seams::row::Detail;
use postrider_seams::store::Error;

use crate::ask::Written;
use crate::layout;
use crate::record::Record;
use crate::statement::{Statement, text};
use crate::store::DynamoStore;

/// Microseconds by which a record's time may be ahead of the clock and still be incremented.
const MOST_AHEAD: i64 = 60_000_000;

/// The effect of a move on the records of the states left and reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// The state is reached for the first time: its record is inserted.
    Forward,
    /// The move leads back to a state that has a record. With `forget` the record of the state left is deleted, so that
    /// it can be reached again.
    Back { forget: bool },
}

impl DynamoStore {
    pub(crate) fn given<'a>(&'a self, nothing: &'a Detail, reason: Option<&'a str>) -> Given<'a> {
        Given {
            now: self.database.clock.now(),
            worker: &self.marks,
            delay: Duration::ZERO,
            reason,
            receipt: None,
            envelope: nothing,
            outcome: nothing,
        }
    }

    /// Makes the move; returns the new record, or `None` if the record is no longer as `before` says.
    pub(crate) async fn make(
        &self,
        step: &Move<'_>,
        before: &Record,
        given: &Given<'_>,
    ) -> Result<Option<Record>, Error> {
        self.make_with(step, before, given, None).await
    }

    /// Makes the move with one more statement in its transaction.
    pub(crate) async fn make_with(
        &self,
        step: &Move<'_>,
        before: &Record,
        given: &Given<'_>,
        also: Option<&Statement>,
    ) -> Result<Option<Record>, Error> {
        let mut row = moved(&self.contract, step, &before.row, given, &mut 0);
        self.move_time_on(&before.row, &mut row, given.now);
        debug_assert!(
            step.to.is_none() || state_of(&self.contract, &row) == step.to,
            "a move's writes satisfy its target"
        );
        let ttl = self.ttl_after(step, before, given.now);
        let within = self.stage().lease.duration / 4;
        let reach = self.reach(step, &before.row, &row);
        self.keep_reached(step, &before.row, &mut row, reach == Reach::Forward);
        let others = self.out_of_step(before, &row, ttl, reach).await?;
        for flipped in [false, true] {
            let mut statements = self.statements(before, &row, ttl, given.reason, reach, flipped);
            statements.extend(others.iter().map(|state| self.target.set_ttl(&before.id, state, ttl)));
            statements.extend(also.cloned());
            match self.database.write(step.transition.name(), &statements, within).await? {
                Written::Done => return Ok(Some(self.after(before, row, ttl))),
                // The `_META` record comes first: its condition alone decides whether the move is allowed.
                Written::Refused(which) if which.first() == Some(&true) => return Ok(None),
                // The state's record exists although none was expected, or the other way round.
                Written::Refused(_) => {}
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
    pub(crate) fn move_time_on(&self, before: &Row, after: &mut Row, now: i64) {
        let old = before.get(&self.layout.updated).and_then(int);
        let followed = old.filter(|old| (now..=now + MOST_AHEAD).contains(old));
        after.insert(self.layout.updated.clone(), Value::Int(followed.map_or(now, |old| old + 1)));
    }

    /// Returns the states whose records need the new time to live, because they would otherwise outlive `_META`.
    async fn out_of_step(
        &self,
        before: &Record,
        after: &Row,
        ttl: Option<i64>,
        reach: Reach,
    ) -> Result<Vec<String>, Error> {
        if before.ttl == ttl && !before.legacy_ttl {
            return Ok(Vec::new());
        }
        let (items, _) =
            self.database.select("read the records", &self.target.all_of(&before.id), None, None).await?;
        let status = |row: &Row| row.get(&self.layout.status).and_then(Value::as_text).map(str::to_owned);
        // The move itself writes or deletes these.
        let mut written = vec![Some(layout::META.to_owned()), status(after)];
        if reach == (Reach::Back { forget: true }) {
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
        reach: Reach,
        flipped: bool,
    ) -> Vec<Statement> {
        let status =
            |row: &Row| row.get(&self.layout.status).and_then(Value::as_text).unwrap_or_default().to_owned();
        let mut statements = vec![self.target.update_meta(&self.layout, before, row, ttl)];
        if reach == (Reach::Back { forget: true }) {
            statements.push(self.target.delete(&before.id, &status(&before.row)));
        }
        let history = Record::history(&self.layout, row, reason);
        let insert = (reach == Reach::Forward) != flipped;
        statements.push(if insert {
            self.target.insert(&before.id, &status(row), history, ttl)
        } else {
            self.target.update(&before.id, &status(row), history, ttl)
        });
        statements
    }

    fn reach(&self, step: &Move<'_>, before: &Row, after: &Row) -> Reach {
        let status = |row: &Row| row.get(&self.layout.status).cloned();
        if status(before) == status(after) {
            return Reach::Back { forget: false };
        }
        let ready = step
            .stage
            .ready
            .iter()
            .any(|ready| Some(self.status_of(*ready)) == status(after).as_ref().and_then(Value::as_text));
        let operators = step.transition == Transition::Requeued;
        match (ready, operators) {
            // Keep the record of the failed state after a requeue.
            (_, true) => Reach::Back { forget: false },
            (true, false) => Reach::Back { forget: true },
            (false, false) => Reach::Forward,
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
            Claimed::State(state) => vec![state],
            Claimed::Same => self.stage().ready.clone(),
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
        let doomed = rule(state_of(&self.contract, &before.row))
            .zip(was)
            .is_some_and(|(rule, since)| before.ttl == Some(seconds(since, rule)));
        let kept = before.ttl.filter(|_| !(doomed && step.transition == Transition::Requeued));
        kept.or_else(|| rule(step.to).map(|rule| seconds(now, rule)))
    }

    /// Returns the time in the role's column of a record.
    pub(crate) fn time(&self, record: &Record, role: Role) -> Option<i64> {
        record.row.get(self.contract.column(role)?).and_then(int)
    }
}
