//! Finds and ends rows with unreadable times on SQLite, which accepts any text as a time.
//!
//! Such a time satisfies no comparison, so the row would wait forever. Owns: which times can keep a row waiting, and
//! the scripts that end such a row. Other databases reject such values on write and need none of this.

use postrider_contract::{ClaimedState, ColumnRole, DueNull, LeaseBy, Set, StateId, Transition, When};
use postrider_seams::row::RowId;

use crate::bind::Limit;
use crate::driver::execute::{SqlBuilder, Statement};
use crate::render::condition::Lookup;
use crate::render::moves::{MoveNamed, Pick};
use crate::render::step_builder::StepBuilder;
use crate::render::table::Table;
use crate::render::value::Writes;
use crate::typed::typed_script;
use crate::{Dialect, Param, Script, Yields};

/// The scripts that end ready rows whose time in one column is unreadable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableScripts {
    pub column: String,
    pub find: FindUnreadable,
    pub end: MoveNamed,
}

typed_script! {
    /// Yields the keys of such rows.
    pub FindUnreadable(Limit) -> RowId, Read, |_, mut row| row.key()
}

/// A time column that a lane compares, and the states in which it does.
pub(crate) struct ComparedTime<'a> {
    pub column: &'a str,
    pub states: Vec<StateId>,
    /// A further condition for the comparison to matter.
    pub condition: Option<String>,
    pub consequence: Consequence,
}

/// The consequence of an unreadable time for its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consequence {
    /// No claim selects the row.
    Waits,
    /// The row is treated as one without that time: it goes at once, or first.
    GoesFirst,
    /// The row's lease starts when the next recovery sees it.
    IsStamped,
}

impl Table<'_> {
    /// Returns the condition that the column holds something that is not a time; `None` on databases that reject it.
    pub fn is_unreadable(&self, column: &str) -> Option<String> {
        (self.dialect == Dialect::Sqlite)
            .then(|| format!("({} IS NOT NULL AND {} IS NULL)", self.col(column), self.instant(column)))
    }

    /// Returns the condition that the column holds no time: NULL, or an unreadable value.
    pub fn has_no_time(&self, column: &str) -> String {
        match self.dialect {
            Dialect::Sqlite => format!("{} IS NULL", self.instant(column)),
            Dialect::Postgres | Dialect::Mysql => format!("{} IS NULL", self.col(column)),
        }
    }

    /// Returns every time that a claim or a recovery compares, without duplicates.
    pub fn compared_times(&self) -> Vec<ComparedTime<'_>> {
        let mut times = self.awaited_times();
        times.extend(self.lease_times());
        times.extend(self.order_times());
        let mut seen = std::collections::BTreeSet::new();
        times.retain(|time| seen.insert((time.column, time.states.clone())));
        times
    }

    /// Times without which no claim selects a ready row.
    fn awaited_times(&self) -> Vec<ComparedTime<'_>> {
        let ready = || self.stage.ready.clone();
        let mut times = Vec::new();
        if let Some(column) = self.contract.column(ColumnRole::Due) {
            let now = self.contract.due.null == DueNull::Now;
            let consequence = if now { Consequence::GoesFirst } else { Consequence::Waits };
            times.push(ComparedTime { column, states: ready(), condition: None, consequence });
        } else if let Some(column) = self.contract.due.after.and_then(|role| self.contract.column(role)) {
            let tried = self.attempts().map(|attempts| format!("{attempts} > 0"));
            let condition = match (tried, self.was_put_off()) {
                (Some(tried), Some(put_off)) => Some(format!("({tried} OR {put_off})")),
                (tried, put_off) => tried.or(put_off),
            };
            times.push(ComparedTime { column, states: ready(), condition, consequence: Consequence::Waits });
        }
        if let Some(column) =
            self.contract.column(ColumnRole::Created).filter(|_| !self.contract.claim.min_age.is_zero())
        {
            times.push(ComparedTime {
                column,
                states: ready(),
                condition: None,
                consequence: Consequence::Waits,
            });
        }
        for sweep in self.contract.sweeps.iter().filter(|sweep| sweep.blocks_claims) {
            let states: Vec<StateId> =
                self.stage.ready.iter().copied().filter(|state| sweep.from.contains(state)).collect();
            let column = match &sweep.when {
                When::OlderThan { since: column, .. } | When::At { column } | When::Before { column } => {
                    column
                }
                When::Always => continue,
            };
            if !states.is_empty() {
                times.push(ComparedTime { column, states, condition: None, consequence: Consequence::Waits });
            }
        }
        times
    }

    fn lease_times(&self) -> Vec<ComparedTime<'_>> {
        let ClaimedState::State(held) = self.stage.claimed else { return Vec::new() };
        let columns = [ColumnRole::ClaimedAt, ColumnRole::LeaseUntil].map(|role| self.contract.column(role));
        let time = |column| ComparedTime {
            column,
            states: vec![held],
            condition: None,
            consequence: Consequence::IsStamped,
        };
        columns.into_iter().flatten().map(time).collect()
    }

    fn order_times(&self) -> Vec<ComparedTime<'_>> {
        let order = self.contract.claim.order.iter().filter_map(|order| self.contract.order_column(order));
        let sequence = self.group().into_iter().flat_map(|group| group.sequence.iter().map(String::as_str));
        let times = order.chain(sequence).filter(|column| self.time(column).is_some());
        times
            .map(|column| ComparedTime {
                column,
                states: self.stage.ready.clone(),
                condition: None,
                consequence: Consequence::GoesFirst,
            })
            .collect()
    }

    /// Returns the column that decides when a lease expires, and the condition that a row lacks it; `None` if none can.
    pub fn stamped_column(&self) -> Option<(&str, String)> {
        let nullable =
            self.contract.nullable_claim_time(self.stage).filter(|column| self.shape_of(column).nullable);
        if let Some(column) = nullable {
            return Some((column, self.has_no_time(column)));
        }
        if !matches!(self.stage.claimed, ClaimedState::State(_)) || self.stage.lease.by == LeaseBy::Due {
            return None;
        }
        let column = self.contract.column(ColumnRole::ClaimedAt)?;
        Some((column, self.is_unreadable(column)?))
    }

    /// Returns the scripts that end rows which would wait forever, with a reason.
    ///
    /// Empty if the contract has no error column, or its dead state is also a ready one.
    pub fn unreadable(&self) -> Vec<UnreadableScripts> {
        let ends =
            !self.stage.ready.contains(&self.stage.dead) && self.contract.column(ColumnRole::Error).is_some();
        if self.dialect != Dialect::Sqlite || !ends {
            return Vec::new();
        }
        let waits = self.awaited_times().into_iter().filter(|time| time.consequence == Consequence::Waits);
        waits.map(|time| self.end_unreadable(&time)).collect()
    }

    fn end_unreadable(&self, time: &ComparedTime<'_>) -> UnreadableScripts {
        let mut conditions: Vec<String> = self.is_unreadable(time.column).into_iter().collect();
        conditions.extend(time.condition.clone());
        let mut writes = Writes::of(self.contract, self.contract.exhausted_move(self.stage));
        // Overwrite the error of an earlier failure, which is not why the row ends.
        for assignment in &mut writes.assignments {
            if let Set::ExprIfNull(value) = &assignment.set {
                assignment.set = Set::Expr(value.clone());
            }
        }
        let reason = format!("{} holds a time that can't be read", time.column);
        let find = FindUnreadable { script: self.unreadable_rows(&time.states, &conditions) };
        let pick = Pick::Named { conditions };
        UnreadableScripts {
            column: time.column.to_owned(),
            find,
            end: MoveNamed { script: self.picked_with(&writes, &[Transition::Swept], Some(&reason), &pick) },
        }
    }

    /// Runs beside writers, because it reads all ready rows.
    fn unreadable_rows(&self, states: &[StateId], conditions: &[String]) -> Script {
        let builder = StepBuilder::plain(self);
        let mut parts = vec![self.in_states(states, Lookup::Index)];
        parts.extend(conditions.iter().cloned());
        parts.extend(self.filter());
        let text = format!(
            "SELECT {}\nFROM {} AS t\nWHERE {}\nLIMIT {}",
            self.key(),
            self.name(),
            parts.join("\n  AND "),
            builder.bind(Param::Limit)
        );
        Script { steps: vec![builder.finish(&text, Yields::Keys)] }
    }

    /// Returns the statement that counts rows with an unreadable time, with the key and value of one of them.
    ///
    /// `rows` selects the columns. `None` on databases that reject such values.
    pub fn count_unreadable(&self, time: &ComparedTime<'_>, rows: &str) -> Option<Statement> {
        let mut parts = vec![self.is_unreadable(time.column)?, self.in_states(&time.states, Lookup::Index)];
        parts.extend(time.condition.clone());
        parts.extend(self.filter());
        let sql = format!(
            "SELECT COUNT(*), CAST(MIN({}) AS TEXT), CAST(MIN({}) AS TEXT) FROM ({rows}) AS t WHERE {}",
            self.id(),
            self.col(time.column),
            parts.join(" AND ")
        );
        Some(SqlBuilder::new(self.dialect, sql).finish())
    }
}
