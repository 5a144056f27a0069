//! Conditions on a row: its state, its attempts, and whether it is due.

use std::collections::BTreeMap;

use postrider_contract::{
    ColumnRole, Condition, Contract, Counters, DEFERRED_OWNER, DueNull, Literal, Stage, StateId, Sweep, When,
};
use postrider_seams::Value;

use crate::{NEVER, Row, micros, takeover};

static NULL: Value = Value::Null;

/// Returns the value of a column; `Null` if it is missing.
pub fn column_value<'a>(row: &'a Row, column: &str) -> &'a Value {
    row.get(column).unwrap_or(&NULL)
}

/// Returns the value of the column with this role; `Null` if the contract has no such column.
pub fn role_value<'a>(contract: &Contract, row: &'a Row, role: ColumnRole) -> &'a Value {
    contract.column(role).map_or(&NULL, |column| column_value(row, column))
}

/// Returns the integer; `None` for any other type.
pub fn int(value: &Value) -> Option<i64> {
    match value {
        Value::Int(int) => Some(*int),
        _ => None,
    }
}

/// Converts a literal of the contract to a value.
pub fn literal(literal: &Literal) -> Value {
    match literal {
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Int(value) => Value::Int(*value),
        Literal::Float(value) => Value::Float(*value),
        Literal::Text(value) => Value::Text(value.clone()),
    }
}

fn satisfies(value: &Value, condition: &Condition) -> bool {
    match condition {
        Condition::Is(expected) => *value == literal(expected),
        Condition::Null(null) => (*value == Value::Null) == *null,
        Condition::Never(never) => (int(value) == Some(NEVER)) == *never,
    }
}

/// Returns the state of a row; `None` if it is in no state of the contract. States are disjoint, so the first match is
/// the only one.
pub fn state_of(contract: &Contract, row: &Row) -> Option<StateId> {
    contract
        .states
        .iter()
        .position(|state| {
            !state.deletes
                && state
                    .conditions
                    .iter()
                    .all(|(column, condition)| satisfies(column_value(row, column), condition))
        })
        .map(StateId)
}

/// Returns the attempts, the limit of attempts and the retry schedule that the row itself holds.
pub fn counters(contract: &Contract, stage: &Stage, row: &Row) -> Counters {
    let count = |value: &Value| int(value).and_then(|count| u32::try_from(count).ok());
    Counters {
        attempts: count(role_value(contract, row, ColumnRole::Attempts)).unwrap_or(0),
        max_attempts: count(role_value(contract, row, ColumnRole::MaxAttempts)),
        schedule: stage.retry_rule.column.as_deref().and_then(|column| match column_value(row, column) {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }),
    }
}

/// Whether the row may be tried once more.
pub fn has_attempts_left(contract: &Contract, stage: &Stage, row: &Row) -> bool {
    let counters = counters(contract, stage, row);
    // The first attempt is always made, whatever limit the row has.
    counters.attempts < counters.max_attempts.unwrap_or(stage.attempts.max).max(1)
}

/// Returns the row's times by role, in microseconds since 1970.
pub fn times(contract: &Contract, row: &Row) -> BTreeMap<ColumnRole, i64> {
    let roles = contract.columns.0.keys().filter(|role| role.is_time());
    roles.filter_map(|time| Some((*time, int(role_value(contract, row, *time))?))).collect()
}

/// Returns the microseconds until the row is due, negative if it is due; `None` if it is always due, or never.
pub fn due_in(contract: &Contract, stage: &Stage, row: &Row, now: i64) -> Option<i64> {
    due_at(contract, stage, row).filter(|due| *due != i64::MIN).map(|due| due.saturating_sub(now))
}

/// Returns the time at which the row falls due, in microseconds since 1970; `i64::MIN` for always, `None` for never.
pub fn due_at(contract: &Contract, stage: &Stage, row: &Row) -> Option<i64> {
    let mut due = if let Some(after) = contract.due.after {
        let counters = counters(contract, stage, row);
        match int(role_value(contract, row, after)) {
            Some(since) if counters.attempts > 0 => {
                let planned = stage.retry_rule.schedule.delay(counters.attempts, 0.0);
                let requested = contract.due.retry_after.as_ref();
                let requested = requested.map(|requested| {
                    takeover::seconds(column_value(row, &requested.column), &requested.member)
                });
                since + micros(requested.map_or(planned, |requested| planned.max(requested)))
            }
            _ => i64::MIN,
        }
    } else if contract.column(ColumnRole::Due).is_some() {
        match (int(role_value(contract, row, ColumnRole::Due)), contract.due.null) {
            (Some(due), _) => due,
            (None, DueNull::Now) => i64::MIN,
            (None, DueNull::Never) => return None,
        }
    } else {
        i64::MIN
    };
    if !contract.claim.min_age.is_zero()
        && let Some(created) = int(role_value(contract, row, ColumnRole::Created))
    {
        due = due.max(created + micros(contract.claim.min_age) + 1);
    }
    Some(due)
}

/// Whether the row's lock stands for "not before" instead of a claim.
pub fn was_deferred(contract: &Contract, row: &Row) -> bool {
    role_value(contract, row, ColumnRole::Owner).as_text() == Some(DEFERRED_OWNER)
}

/// Whether a sweep that blocks claims is due for the row.
pub fn is_blocked_by_sweep(contract: &Contract, row: &Row, now: i64) -> bool {
    let state = state_of(contract, row);
    let blocks_claims =
        |sweep: &&Sweep| sweep.blocks_claims && sweep.from.iter().any(|from| Some(*from) == state);
    contract.sweeps.iter().filter(blocks_claims).any(|sweep| sweep_is_due(sweep, row, now))
}

/// Whether the sweep is due for the row.
pub fn sweep_is_due(sweep: &Sweep, row: &Row, now: i64) -> bool {
    match &sweep.when {
        When::Always => true,
        When::OlderThan { age, since } => {
            int(column_value(row, since)).is_some_and(|since| since < now - micros(*age))
        }
        When::At { column } => int(column_value(row, column)).map_or(sweep.publish, |at| at <= now),
        When::Before { column } => int(column_value(row, column)).is_some_and(|until| until > now),
    }
}

/// Whether the row matches the contract's filter: other rows of the same table are never touched.
pub fn matches_filter(contract: &Contract, row: &Row) -> bool {
    contract.claim.filter.iter().all(|(column, expected)| *column_value(row, column) == literal(expected))
}

/// Returns the time at which the lease of a claimed row ends; `None` if the claim left no time.
pub fn lease_end(contract: &Contract, stage: &Stage, row: &Row) -> Option<i64> {
    if let Some(until) = int(role_value(contract, row, ColumnRole::LeaseUntil)) {
        return Some(until);
    }
    // Another program may claim without writing `lease_until`.
    let has_until = contract.column(ColumnRole::LeaseUntil).is_some();
    let length = if has_until { stage.lease.duration_without_lease_until } else { stage.lease.duration };
    int(role_value(contract, row, ColumnRole::ClaimedAt)).map(|claimed| claimed + micros(length))
}

/// Returns the values of the row's fence columns.
pub fn fence(contract: &Contract, stage: &Stage, row: &Row) -> Box<[Value]> {
    stage.lease.fence.iter().map(|fenced| role_value(contract, row, *fenced).clone()).collect()
}
