//! Applies the assignments of a transition to a row.

use std::time::Duration;

use postrider_contract::{Assignment, Contract, Effect, Expr, Move, Role, Set, Stage};
use postrider_seams::Value;
use postrider_seams::row::Detail;

use crate::condition::{get, int, literal, role, was_deferred};
use crate::{NEVER, Row, micros, takeover};

/// The values that a transition uses in addition to the row.
#[derive(Debug)]
pub struct Given<'a> {
    pub now: i64,
    pub worker: &'a str,
    pub delay: Duration,
    pub reason: Option<&'a str>,
    pub receipt: Option<&'a str>,
    pub envelope: &'a Detail,
    pub outcome: &'a Detail,
}

/// Returns the row after the transition. `tsid` is the counter for generated ids.
pub fn moved(contract: &Contract, step: &Move<'_>, row: &Row, given: &Given<'_>, tsid: &mut u64) -> Row {
    assigned(contract, contract.assignments(step), step.stage, row, given, tsid)
}

/// Returns the row with its lease extended.
pub fn extended(contract: &Contract, stage: &Stage, row: &Row, given: &Given<'_>) -> Row {
    assigned(contract, contract.extension(stage), stage, row, given, &mut 0)
}

fn assigned(
    contract: &Contract,
    assignments: Vec<Assignment>,
    stage: &Stage,
    row: &Row,
    given: &Given<'_>,
    tsid: &mut u64,
) -> Row {
    let mut after = row.clone();
    let lease = micros(stage.lease.duration);
    for assignment in assignments {
        let old = get(row, &assignment.column);
        let value = set(contract, &assignment.set, old, lease, row, &after, given, tsid);
        // An assignment that would keep a missing value adds no column.
        let kept = matches!(assignment.set, Set::ExprOrKeep(_)) && value == Value::Null;
        if !kept || after.contains_key(&assignment.column) {
            after.insert(assignment.column, value);
        }
    }
    after
}

/// Returns the row that one of the transition's effects inserts into its table.
pub fn effect(
    contract: &Contract,
    effect: &Effect,
    before: &Row,
    after: &Row,
    given: &Given<'_>,
    tsid: &mut u64,
) -> Row {
    let value = |value: &Expr, tsid: &mut u64| expr(contract, value, before, after, given, tsid);
    effect.values.iter().map(|(column, expr)| (column.clone(), value(expr, tsid))).collect()
}

#[allow(clippy::too_many_arguments)] // a private step of `assigned`, which holds them all
fn set(
    contract: &Contract,
    set: &Set,
    old: &Value,
    lease: i64,
    before: &Row,
    after: &Row,
    given: &Given<'_>,
    tsid: &mut u64,
) -> Value {
    let later = |time: i64| Value::Int(int(old).map_or(time, |old| time.max(old + 1)));
    match set {
        Set::Null => Value::Null,
        Set::Literal(value) => literal(value),
        Set::ByAttempts(untried, tried) => {
            let attempts = contract.column(Role::Attempts).and_then(|column| before.get(column));
            literal(if attempts.and_then(int).unwrap_or(0) == 0 { untried } else { tried })
        }
        Set::Now => Value::Int(given.now),
        Set::NowLater => later(given.now),
        Set::LeaseEnd => later(given.now + lease),
        Set::AfterDelay => Value::Int(given.now.saturating_add(micros(given.delay))),
        Set::LockForDelay => Value::Int(given.now.saturating_add(micros(given.delay)) - lease),
        Set::NowIfNull => {
            if *old == Value::Null {
                Value::Int(given.now)
            } else {
                old.clone()
            }
        }
        Set::Never => Value::Int(NEVER),
        Set::Increment => Value::Int(int(old).unwrap_or(0).saturating_add(1)),
        Set::Decrement => Value::Int((int(old).unwrap_or(0) - 1).max(0)),
        Set::Worker => text(given.worker),
        Set::Reason => given.reason.map_or(Value::Null, text),
        Set::Receipt => given.receipt.map_or(Value::Null, text),
        Set::Plus(value) => {
            let plus = expr(contract, value, before, after, given, tsid);
            Value::Int(int(old).unwrap_or(0) + int(&plus).unwrap_or(0))
        }
        Set::Expr(value) => expr(contract, value, before, after, given, tsid),
        Set::ExprOrKeep(value) => match expr(contract, value, before, after, given, tsid) {
            Value::Null => old.clone(),
            value => value,
        },
        Set::ExprIfNull(value) if *old == Value::Null => expr(contract, value, before, after, given, tsid),
        Set::ExprIfNull(_) => old.clone(),
        Set::TakeOver if was_deferred(contract, before) => old.clone(),
        Set::TakeOver => takeover::noted(old),
        Set::Poisoned => takeover::poisoned(old),
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn expr(
    contract: &Contract,
    value: &Expr,
    before: &Row,
    after: &Row,
    given: &Given<'_>,
    tsid: &mut u64,
) -> Value {
    let status = |row: &Row| role(contract, row, Role::Status).clone();
    match value {
        Expr::Null => Value::Null,
        Expr::Literal(value) => literal(value),
        Expr::Now => Value::Int(given.now),
        Expr::Id => get(before, &contract.table.id).clone(),
        Expr::State => status(after),
        Expr::From => status(before),
        Expr::Reason { .. } => given.reason.map_or(Value::Null, text),
        Expr::Attempts => role(contract, after, Role::Attempts).clone(),
        Expr::ClaimedAt => role(contract, before, Role::ClaimedAt).clone(),
        Expr::Worker => text(given.worker),
        Expr::Tsid => {
            *tsid += 1;
            Value::Text(format!("{tsid:013}"))
        }
        Expr::Row { column, .. } => get(before, column).clone(),
        Expr::Envelope { field, .. } => given.envelope.get(field).cloned().unwrap_or_default(),
        Expr::Outcome { field, .. } => given.outcome.get(field).cloned().unwrap_or_default(),
        Expr::Json(members) => {
            let object = members.iter().filter_map(|(name, value)| {
                let member = json(&expr(contract, value, before, after, given, tsid));
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
