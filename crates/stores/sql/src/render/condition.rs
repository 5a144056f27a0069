//! Renders the conditions that select rows: state, due time, attempts, lease, and the order of claims.

use postrider_contract::{
    AttemptCounting, ClaimOrder, ClaimedState, ColumnRole, Condition, DueNull, LeaseBy, Literal, StateId,
    Sweep, When,
};

use crate::render::step_builder::StepBuilder;
use crate::render::table::Table;
use crate::render::time::{Shift, micros};
use crate::{Dialect, Field};

/// Whether an index may be used for a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// An index may be used.
    Index,
    /// Only checked: the key must drive the statement, otherwise the planner loops over the lease index.
    Check,
}

/// A computed delay is constant beyond this many attempts.
const LISTED_TRIES: u32 = 64;

impl Table<'_> {
    /// Returns the condition that the row is in the state.
    pub fn in_state(&self, id: StateId, lookup: Lookup) -> String {
        let state = self.contract.state(id);
        if state.deletes {
            return "1 = 0".to_owned();
        }
        let conditions = &state.conditions;
        let parts: Vec<String> =
            conditions.iter().map(|(column, condition)| self.condition(column, condition, lookup)).collect();
        parts.join(" AND ")
    }

    /// Returns the condition that the column is not NULL.
    pub fn is_set(&self, column: &str) -> String {
        format!("{} IS NOT NULL", self.col(column))
    }

    /// Returns the condition that the row is in any of the states; in parentheses if there are several.
    pub fn in_states(&self, states: &[StateId], lookup: Lookup) -> String {
        let parts: Vec<String> = states.iter().map(|state| self.in_state(*state, lookup)).collect();
        match parts.as_slice() {
            [one] => one.clone(),
            many => {
                format!("({})", many.iter().map(|part| format!("({part})")).collect::<Vec<_>>().join(" OR "))
            }
        }
    }

    fn condition(&self, column: &str, condition: &Condition, lookup: Lookup) -> String {
        match condition {
            Condition::Is(literal) => self.holds(column, literal, lookup),
            Condition::Null(true) => format!("{} IS NULL", self.col(column)),
            Condition::Null(false) => format!("{} IS NOT NULL", self.col(column)),
            Condition::Never(never) => self.is_never(column, *never),
        }
    }

    fn holds(&self, column: &str, literal: &Literal, lookup: Lookup) -> String {
        let (col, literal) = (self.col(column), self.literal(literal));
        match (lookup, self.dialect) {
            (Lookup::Check, Dialect::Postgres) => format!("{col} IS NOT DISTINCT FROM {literal}"),
            (Lookup::Check, Dialect::Sqlite) => format!("+{col} = {literal}"),
            _ => format!("{col} = {literal}"),
        }
    }

    /// Returns the number of attempts, from its column or from the history; `None` if the table counts none.
    pub fn attempts(&self) -> Option<String> {
        let Some(attempts) = self.role(ColumnRole::Attempts) else {
            return self.tries_in_history(&self.id());
        };
        Some(if self.attempts_may_be_null() { format!("COALESCE({attempts}, 0)") } else { attempts })
    }

    /// Whether NULL in the column counts as 0: as the contract says, else if the column allows it.
    fn attempts_may_be_null(&self) -> bool {
        let column = self.contract.column(ColumnRole::Attempts);
        let allows = || column.is_some_and(|column| self.shape_of(column).nullable);
        self.stage.attempts.nullable.unwrap_or_else(allows)
    }

    /// Returns the row's maximum number of attempts, at least 1: the first attempt is always made.
    pub fn max_attempts(&self) -> String {
        let max = self.stage.attempts.max;
        let Some(column) = self.role(ColumnRole::MaxAttempts) else { return max.to_string() };
        let greatest = if self.dialect == Dialect::Sqlite { "max" } else { "GREATEST" };
        format!("{greatest}(COALESCE({column}, {max}), 1)")
    }

    /// Returns the condition that the row has attempts left; `None` if the table counts none.
    pub fn has_attempts_left(&self) -> Option<String> {
        Some(format!("{} < {}", self.attempts()?, self.max_attempts()))
    }

    /// Returns the condition that the row has no attempts left; `None` if the table counts none.
    pub fn is_spent(&self) -> Option<String> {
        Some(format!("{} >= {}", self.attempts()?, self.max_attempts()))
    }

    /// Returns the condition that the leased attempt was the row's last one, or, if not `last`, that another one is
    /// left.
    pub fn lease_was_last(&self, last: bool) -> Option<String> {
        let attempts = self.attempts()?;
        let tries = if self.stage.attempts.count == AttemptCounting::Claims {
            attempts
        } else {
            format!("{attempts} + 1")
        };
        Some(format!("{tries} {} {}", if last { ">=" } else { "<" }, self.max_attempts()))
    }

    /// Returns the condition that the row is due; `None` if the contract has no due time.
    pub fn is_due(&self) -> Option<String> {
        if let Some(due) = self.contract.column(ColumnRole::Due) {
            let bound = self.comparable(due, &Shift::NOW);
            return Some(match (self.contract.due.null, self.dialect) {
                (DueNull::Never, _) => format!("{} <= {bound}", self.instant(due)),
                // MySQL and MariaDB share no syntax for an index on an expression; both read this condition as one
                // range.
                (DueNull::Now, Dialect::Mysql) => {
                    let due = self.instant(due);
                    format!("({due} IS NULL OR {due} <= {bound})")
                }
                (DueNull::Now, _) => format!("{} <= {bound}", self.instant_or_first(due)),
            });
        }
        let after = self.contract.due.after.and_then(|role| self.contract.column(role))?;
        let attempts = self.attempts()?;
        let bound = self.computed_bound(after, &attempts);
        let mut waited = format!("{} <= {bound}", self.instant(after));
        if let Some(asked) = &self.contract.due.retry_after {
            waited = format!("({waited} AND {})", self.retry_after_is_over(after, asked));
        }
        let due = format!("({attempts} = 0 OR {} IS NULL OR {waited})", self.col(after));
        Some(match self.not_put_off() {
            Some(not_put_off) => format!("{due}\n  AND {not_put_off}"),
            None => due,
        })
    }

    /// Returns the row's due time as an expression that an index can hold; `None` if the due time is computed.
    pub fn due_key(&self) -> Option<String> {
        let due = self.contract.column(ColumnRole::Due)?;
        Some(match (self.contract.due.null, self.dialect) {
            (DueNull::Now, Dialect::Postgres | Dialect::Sqlite) => self.instant_or_first(due),
            _ => self.instant(due),
        })
    }

    /// The current time minus the delay after this many attempts.
    fn computed_bound(&self, after: &str, attempts: &str) -> String {
        self.by_attempts(attempts, |delay| self.comparable(after, &Shift::Micros(-delay)))
    }

    /// Returns the microseconds until a ready row is due, where the due time is computed; NULL or negative means now.
    pub fn computed_wait(&self) -> Option<String> {
        let after = self.contract.due.after.and_then(|role| self.contract.column(role))?;
        let attempts = self.attempts()?;
        let mut delay = self.by_attempts(&attempts, |delay| delay.to_string());
        if let Some(asked) = &self.contract.due.retry_after {
            let greatest = if self.dialect == Dialect::Sqlite { "max" } else { "GREATEST" };
            delay = format!("{greatest}({delay}, {} * 1000000)", self.retry_after_seconds(asked));
        }
        Some(format!("CASE WHEN {attempts} > 0 THEN {delay} - ({}) END", self.micros_since(after)))
    }

    /// Renders one value for each number of attempts; the last value applies to all further attempts.
    fn by_attempts(&self, attempts: &str, value: impl Fn(i64) -> String) -> String {
        let schedule = &self.stage.retry_rule.schedule;
        let most = self.stage.attempts.max.clamp(1, LISTED_TRIES);
        let delays: Vec<i64> = (1..=most).map(|tries| micros(schedule.delay(tries, 0.0))).collect();
        let last = delays.last().copied().unwrap_or(0);
        let different = delays.iter().take_while(|delay| **delay != last).count();
        if different == 0 {
            return value(last);
        }
        let cases: Vec<String> = (1_u32..)
            .zip(&delays[..different])
            .map(|(tries, delay)| format!(" WHEN {tries} THEN {}", value(*delay)))
            .collect();
        format!("CASE {attempts}{} ELSE {} END", cases.concat(), value(last))
    }

    /// Returns all conditions that make a row of these states claimable.
    pub fn claimable(&self, states: &[StateId]) -> Vec<String> {
        let mut parts = vec![self.in_states(states, Lookup::Index)];
        parts.extend(self.is_due());
        parts.extend(self.has_attempts_left());
        parts.extend(self.is_old_enough());
        parts.extend(self.not_barred(states));
        parts.extend(self.filter());
        parts
    }

    /// Returns the condition that the row has the contract's minimum age; `None` if the contract has none.
    pub fn is_old_enough(&self) -> Option<String> {
        let age = self.contract.claim.min_age;
        let created = self.contract.column(ColumnRole::Created).filter(|_| !age.is_zero())?;
        Some(format!("{} < {}", self.instant(created), self.comparable(created, &Shift::back(age))))
    }

    /// Returns the conditions that exclude rows which a sweep is about to move, so that they are not sent.
    pub fn not_barred(&self, states: &[StateId]) -> Vec<String> {
        let bars =
            |sweep: &&Sweep| sweep.blocks_claims && sweep.from.iter().any(|from| states.contains(from));
        let sweeps = self.contract.sweeps.iter().filter(bars);
        sweeps.filter_map(|sweep| self.is_not_its_time(&sweep.when)).collect()
    }

    /// The condition that the sweep does not apply to the row now; `None` if the sweep always applies.
    fn is_not_its_time(&self, when: &When) -> Option<String> {
        let (column, outside, shift) = match when {
            When::Always => return None,
            When::OlderThan { age, since } => (since, ">=", Shift::back(*age)),
            When::At { column } => (column, ">", Shift::NOW),
            When::Before { column } => (column, "<=", Shift::NOW),
        };
        let bound = self.comparable(column, &shift);
        Some(format!("({} IS NULL OR {} {outside} {bound})", self.col(column), self.instant(column)))
    }

    /// Returns the conditions that a lane handles the row: those of the contract's filter, and that the row has a key.
    pub fn filter(&self) -> Vec<String> {
        self.contract_filter().chain(self.has_key()).collect()
    }

    /// Returns the conditions of the contract's filter, which excludes rows of other applications in the same table.
    pub fn contract_filter(&self) -> impl Iterator<Item = String> {
        let filter = self.contract.claim.filter.iter();
        filter.map(|(column, literal)| self.holds(column, literal, Lookup::Index))
    }

    /// Returns the condition that the row has a key: no statement can name a row without one, so that a claim would find
    /// the same rows again and again. `None` if the table allows no NULL there.
    pub fn has_key(&self) -> Option<String> {
        let id = &self.contract.table.id;
        self.shape_of(id).nullable.then(|| self.is_set(id))
    }

    /// Returns the order of claims: expressions with their direction.
    pub fn claim_order(&self) -> Vec<(String, &'static str)> {
        let order = self.contract.claim.order.iter();
        order
            .filter_map(|order| self.contract.order_column(order).map(|column| self.order(order, column)))
            .collect()
    }

    fn order(&self, order: &ClaimOrder, column: &str) -> (String, &'static str) {
        let nulls = self.shape_of(column).nullable && !order.is_by(ColumnRole::Id);
        let expression = match self.time(column) {
            Some(_) if order.is_by(ColumnRole::Due) && self.dialect != Dialect::Mysql => {
                if self.contract.due.null == DueNull::Now {
                    return (self.instant_or_first(column), if order.descending { " DESC" } else { "" });
                }
                self.instant(column)
            }
            Some(_) => self.instant(column),
            None => self.col(column),
        };
        // MySQL and SQLite sort NULL below everything, which is the order we want.
        let direction = match (order.descending, self.dialect == Dialect::Postgres && nulls) {
            (true, true) => " DESC NULLS LAST",
            (true, false) => " DESC",
            (false, true) if !order.is_by(ColumnRole::Due) => " NULLS FIRST",
            (false, _) => "",
        };
        (expression, direction)
    }

    /// Returns the condition that the lease expired; `None` if the lease is a due time or a lock, which end
    /// automatically.
    pub fn is_expired(&self) -> Option<String> {
        let lease = &self.stage.lease;
        if lease.by == LeaseBy::Due {
            return None;
        }
        let claimed_at = self.contract.column(ColumnRole::ClaimedAt);
        let claimed_before = |column: &str, shift: &Shift| {
            format!("{} < {}", self.instant(column), self.comparable(column, shift))
        };
        match (self.contract.column(ColumnRole::LeaseUntil), claimed_at) {
            // A foreign worker writes no lease time: its lease is the longer one, from its claim time.
            (Some(until), Some(claimed_at)) => Some(format!(
                "({} OR ({} AND {}))",
                claimed_before(until, &Shift::NOW),
                self.has_no_time(until),
                claimed_before(claimed_at, &Shift::back(lease.duration_without_lease_until))
            )),
            (Some(until), None) => Some(match self.is_unreadable(until) {
                Some(unreadable) => format!("({} OR {unreadable})", claimed_before(until, &Shift::NOW)),
                None => claimed_before(until, &Shift::NOW),
            }),
            (None, Some(claimed_at)) => Some(claimed_before(claimed_at, &Shift::back(lease.duration))),
            (None, None) => None,
        }
    }

    /// Returns the condition that the row is in the state, and that a lane handles it.
    pub fn ours(&self, state: StateId) -> String {
        let mut parts = vec![self.in_state(state, Lookup::Index)];
        parts.extend(self.filter());
        parts.join(" AND ")
    }

    /// Whether one index has the rows in flight, by group and pool.
    pub fn has_held_index(&self) -> bool {
        let pools = self.contract.pool.is_some() && self.contract.column(ColumnRole::Pool).is_some();
        let claims = matches!(self.stage.claimed, ClaimedState::State(_));
        self.dialect != Dialect::Mysql && claims && (self.group().is_some() || pools)
    }

    /// Returns the column that decides when a lease expires.
    pub fn horizon(&self) -> Option<&str> {
        self.contract.column(ColumnRole::LeaseUntil).or_else(|| self.contract.column(ColumnRole::ClaimedAt))
    }
}

impl StepBuilder<'_> {
    /// Returns the conditions that the fence is unchanged since the claim or the last extension of the lease.
    pub fn fence_holds(&self) -> Vec<String> {
        let table = self.table;
        let fence = table.fence();
        let one = |(index, (_, column)): (usize, &(ColumnRole, &str))| {
            let (col, value) = (table.col(column), self.typed(Field::Fence(index), column));
            match table.dialect {
                Dialect::Postgres => format!("{col} IS NOT DISTINCT FROM {value}"),
                Dialect::Mysql => format!("{col} <=> {value}"),
                Dialect::Sqlite => format!("CAST({col} AS TEXT) IS {value}"),
            }
        };
        fence.iter().enumerate().map(one).collect()
    }
}
