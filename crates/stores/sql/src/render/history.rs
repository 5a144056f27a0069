//! Counts attempts in the history table, for contracts whose table has no attempts column.
//!
//! An attempt is a history record that leads back to the stage's `retry` state with a reason, since the row was first
//! claimed there. The record of a deferred or released row is marked as such and does not count. A record without a
//! reason (an operator's requeue) restarts the count.

use std::collections::BTreeSet;

use postrider_contract::{ClaimedState, History, Transition};

use crate::render::column;
use crate::render::step_builder::StepBuilder;
use crate::render::table::Table;
use crate::render::time::{Shift, micros};
use crate::render::value::{TargetColumn, Writes};
use crate::{Dialect, Field};

/// Prefix of the record of a deferred row.
const PUT_OFF: &str = "put off: ";
/// The record of a released row.
const HANDED_BACK: &str = "handed back untried";

impl Table<'_> {
    /// Returns the number of attempts; `id` is the row's key as an expression valid at that place.
    pub fn tries_in_history(&self, id: &str) -> Option<String> {
        let history = self.contract.counted_history()?;
        let ClaimedState::State(held) = self.stage.claimed else { return None };
        let literal = |state| self.status_literal(state).map(|literal| self.literal(literal));
        let (claimed, retry) = (literal(held)?, literal(self.stage.retryable)?);
        let lines = |alias: &str| self.lines(history, alias, id);
        let (order, state, reason) =
            (self.quote(&history.order), self.quote(&history.state), self.quote(&history.reason));
        let entered = format!(
            "SELECT MAX(o.{order}) {} AND (o.{state} NOT IN ({}) OR (o.{state} = {retry} AND o.{reason} IS NULL))",
            lines("o"),
            self.own_states()
        );
        let first = format!(
            "SELECT MIN(c.{order}) {} AND c.{state} = {claimed} AND c.{order} > COALESCE(({entered}), 0)",
            lines("c")
        );
        Some(format!(
            "(SELECT COUNT(*) {} AND h.{state} = {retry} AND h.{reason} <> {} AND h.{reason} NOT LIKE {} AND h.{order} > \
             ({first}))",
            lines("h"),
            self.text(HANDED_BACK),
            self.text(&format!("{PUT_OFF}%")),
        ))
    }

    /// Returns the time of the row's first record in the stage, in milliseconds since 1970.
    ///
    /// `None` for a stage whose times the contract does not pass on; NULL if the row has no record.
    pub fn reached(&self) -> Option<String> {
        let history = self.contract.history.as_ref()?;
        history.reached_for.contains(&self.stage.name).then_some(())?;
        let time = history.time.as_ref()?;
        let columns = self.shape.related.get(&history.table)?;
        let shape = columns.iter().find(|column| column.name == *time)?;
        let form = column::time(self.dialect, self.contract.table.time, shape).ok()?;
        let retry = self.status_literal(self.stage.retryable).map(|literal| self.literal(literal))?;
        let (order, state, id) = (self.quote(&history.order), self.quote(&history.state), self.id());
        let first = format!(
            "(SELECT h.{} {} AND h.{state} = {retry} AND h.{order} > COALESCE((SELECT MAX(o.{order}) {} AND o.{state} NOT IN \
             ({})), 0) ORDER BY h.{order} LIMIT 1)",
            self.quote(time),
            self.lines(history, "h", &id),
            self.lines(history, "o", &id),
            self.own_states()
        );
        // Rounded down like the clock's milliseconds: otherwise the two could differ by one and fall into different
        // seconds. MySQL rounds a second up when it writes it, so the record may be ahead of the clock.
        let micros = self.micros_since_as(form, &first);
        let millis = match self.dialect {
            Dialect::Mysql => format!("FLOOR(({micros}) / 1000)"),
            Dialect::Postgres | Dialect::Sqlite => format!("({micros}) / 1000"),
        };
        let ago = self.as_integer(&millis);
        Some(format!("({} - {ago})", self.epoch_millis()))
    }

    fn lines(&self, history: &History, alias: &str, id: &str) -> String {
        let (from, row) = (self.dialect.quoted_path(&history.table), self.quote(&history.row));
        format!("FROM {from} AS {alias} WHERE {alias}.{row} = {id}")
    }

    /// The states in which history records belong to this stage.
    fn own_states(&self) -> String {
        let held = match self.stage.claimed {
            ClaimedState::State(held) => Some(held),
            ClaimedState::Same => None,
        };
        let states = self.stage.ready.iter().copied().chain([self.stage.retryable]).chain(held);
        let literals = states.filter_map(|state| Some(self.literal(self.status_literal(state)?)));
        literals.collect::<BTreeSet<String>>().into_iter().collect::<Vec<_>>().join(", ")
    }

    /// Returns the condition that the row was not deferred, or long enough ago.
    ///
    /// The time until which a row is deferred is not stored: it waits as long as after a first failure.
    pub fn not_put_off(&self) -> Option<String> {
        let since = self.contract.due.after.and_then(|role| self.contract.column(role))?;
        let wait = Shift::Micros(-micros(self.stage.retry_rule.schedule.delay(1, 0.0)));
        let (last, put_off) = self.last_line()?;
        let waited = format!("{} <= {}", self.instant(since), self.comparable(since, &wait));
        Some(format!("({waited} OR {last} NOT LIKE {put_off})"))
    }

    /// Renders the condition that the row was deferred by its last move; `None` if the history does not say it.
    pub fn was_put_off(&self) -> Option<String> {
        let (last, put_off) = self.last_line()?;
        Some(format!("{last} LIKE {put_off}"))
    }

    /// The reason in the row's last line, and the pattern of one that was put off.
    fn last_line(&self) -> Option<(String, String)> {
        let history = self.contract.counted_history()?;
        let last = format!(
            "COALESCE((SELECT h.{} {} ORDER BY h.{} DESC LIMIT 1), '')",
            self.quote(&history.reason),
            self.lines(history, "h", &self.id()),
            self.quote(&history.order)
        );
        Some((last, self.text(&format!("{PUT_OFF}%"))))
    }

    /// Returns the key for SQLite's RETURNING, which knows the row by its table's name and not by an alias.
    pub fn returned_id(&self) -> String {
        format!("{}.{}", self.quote(&self.contract.table.name), self.quote(&self.contract.table.id))
    }
}

impl StepBuilder<'_> {
    /// Returns the history reason of a move without an attempt; `None` if the move's own reason is recorded.
    pub fn untried_reason(
        &self,
        history: &History,
        target: TargetColumn<'_>,
        writes: &Writes<'_>,
    ) -> Option<String> {
        let table = self.table;
        table.contract.counted_history().filter(|counted| counted.table == history.table)?;
        match writes.step.transition {
            Transition::Released => Some(table.text(HANDED_BACK)),
            Transition::Deferred => {
                let (mark, reason) = (table.text(PUT_OFF), self.field(Field::Reason));
                let reason = match table.dialect {
                    Dialect::Mysql => format!("CONCAT({mark}, COALESCE({reason}, ''))"),
                    Dialect::Postgres | Dialect::Sqlite => format!("({mark} || COALESCE({reason}, ''))"),
                };
                Some(self.text_into(target, &reason, true))
            }
            _ => None,
        }
    }
}
