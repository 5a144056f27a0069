//! Applies the assignments of a transition to a row.

use std::time::Duration;

use postrider_contract::{Assignment, ColumnRole, Contract, Effect, Expr, Move, Set, Stage};
use postrider_seams::Value;
use postrider_seams::row::Detail;

use crate::condition::{column_value, int, literal, role_value, was_deferred};
use crate::{NEVER, Row, micros, takeover};

/// The values that a transition uses in addition to the row.
#[derive(Debug)]
pub struct TransitionInput<'a> {
    pub now: i64,
    pub worker: &'a str,
    pub delay: Duration,
    pub reason: Option<&'a str>,
    pub receipt: Option<&'a str>,
    pub envelope: &'a Detail,
    pub outcome: &'a Detail,
}

/// Returns the row after the transition. `tsid` is the counter for generated ids.
pub fn apply_transition(
    contract: &Contract,
    step: &Move<'_>,
    row: &Row,
    input: &TransitionInput<'_>,
    tsid: &mut u64,
) -> Row {
    assign_all(contract, contract.assignments(step), step.stage, row, input, tsid)
}

/// Returns the row with its lease extended.
pub fn extend_lease(contract: &Contract, stage: &Stage, row: &Row, input: &TransitionInput<'_>) -> Row {
    assign_all(contract, contract.extension(stage), stage, row, input, &mut 0)
}

fn assign_all(
    contract: &Contract,
    assignments: Vec<Assignment>,
    stage: &Stage,
    row: &Row,
    input: &TransitionInput<'_>,
    tsid: &mut u64,
) -> Row {
    let mut after = row.clone();
    let lease = micros(stage.lease.duration);
    for assignment in assignments {
        let old = column_value(row, &assignment.column);
        let value = assigned_value(contract, &assignment.set, old, lease, row, &after, input, tsid);
        // An assignment that would keep a missing value adds no column.
        let keeps_missing = matches!(assignment.set, Set::ExprOrKeep(_)) && value == Value::Null;
        if !keeps_missing || after.contains_key(&assignment.column) {
            after.insert(assignment.column, value);
        }
    }
    after
}

/// Returns the row that one of the transition's effects inserts into its table.
pub fn effect_row(
    contract: &Contract,
    effect: &Effect,
    before: &Row,
    after: &Row,
    input: &TransitionInput<'_>,
    tsid: &mut u64,
) -> Row {
    let value = |value: &Expr, tsid: &mut u64| evaluate(contract, value, before, after, input, tsid);
    effect.values.iter().map(|(column, expr)| (column.clone(), value(expr, tsid))).collect()
}

#[allow(clippy::too_many_arguments)] // a private step of `assign_all`, which has them all
fn assigned_value(
    contract: &Contract,
    set: &Set,
    old: &Value,
    lease: i64,
    before: &Row,
    after: &Row,
    input: &TransitionInput<'_>,
    tsid: &mut u64,
) -> Value {
    let later = |time: i64| Value::Int(int(old).map_or(time, |old| time.max(old + 1)));
    match set {
        Set::Null => Value::Null,
        Set::Literal(value) => literal(value),
        Set::ByAttempts(untried, tried) => {
            let attempts = contract.column(ColumnRole::Attempts).and_then(|column| before.get(column));
            literal(if attempts.and_then(int).unwrap_or(0) == 0 { untried } else { tried })
        }
        Set::Now => Value::Int(input.now),
        Set::NowLater => later(input.now),
        Set::LeaseEnd => later(input.now + lease),
        Set::AfterDelay => Value::Int(input.now.saturating_add(micros(input.delay))),
        Set::LockForDelay => Value::Int(input.now.saturating_add(micros(input.delay)) - lease),
        Set::NowIfNull => {
            if *old == Value::Null {
                Value::Int(input.now)
            } else {
                old.clone()
            }
        }
        Set::Never => Value::Int(NEVER),
        Set::Increment => Value::Int(int(old).unwrap_or(0).saturating_add(1)),
        Set::Decrement => Value::Int((int(old).unwrap_or(0) - 1).max(0)),
        Set::Worker => text(input.worker),
        Set::Reason => input.reason.map_or(Value::Null, text),
        Set::Receipt => input.receipt.map_or(Value::Null, text),
        Set::Plus(value) => {
            let plus = evaluate(contract, value, before, after, input, tsid);
            Value::Int(int(old).unwrap_or(0) + int(&plus).unwrap_or(0))
        }
        Set::Expr(value) => evaluate(contract, value, before, after, input, tsid),
        Set::ExprOrKeep(value) => match evaluate(contract, value, before, after, input, tsid) {
            Value::Null => old.clone(),
            value => value,
        },
        Set::ExprIfNull(value) if *old == Value::Null => {
            evaluate(contract, value, before, after, input, tsid)
        }
        Set::ExprIfNull(_) => old.clone(),
        Set::TakeOver if was_deferred(contract, before) => old.clone(),
        Set::TakeOver => takeover::add_takeover(old),
        Set::Poisoned => takeover::poisoned_error(old),
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn evaluate(
    contract: &Contract,
    value: &Expr,
    before: &Row,
    after: &Row,
    input: &TransitionInput<'_>,
    tsid: &mut u64,
) -> Value {
    let status = |row: &Row| role_value(contract, row, ColumnRole::Status).clone();
    match value {
        Expr::Null => Value::Null,
        Expr::Literal(value) => literal(value),
        Expr::Now => Value::Int(input.now),
        Expr::Id => column_value(before, &contract.table.id).clone(),
        Expr::State => status(after),
        Expr::From => status(before),
        Expr::Reason { .. } => input.reason.map_or(Value::Null, text),
        Expr::Attempts => role_value(contract, after, ColumnRole::Attempts).clone(),
        Expr::ClaimedAt => role_value(contract, before, ColumnRole::ClaimedAt).clone(),
        Expr::Worker => text(input.worker),
        Expr::Tsid => {
            *tsid += 1;
            Value::Text(format!("{tsid:013}"))
        }
        Expr::Row { column, .. } => column_value(before, column).clone(),
        Expr::Envelope { field, .. } => input.envelope.get(field).cloned().unwrap_or_default(),
        Expr::Outcome { field, .. } => input.outcome.get(field).cloned().unwrap_or_default(),
        Expr::Json(members) => {
            let object = members.iter().filter_map(|(name, value)| {
                let member = json(&evaluate(contract, value, before, after, input, tsid));
                (!member.is_null()).then(|| (name.clone(), member))
            });
            Value::Text(serde_json::Value::Object(object.collect()).to_string())
        }
    }
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null | Value::Bytes(_) => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Float(value) => (*value).into(),
        Value::Text(value) => value.clone().into(),
    }
}
