//! Turns what a move writes into a changed row.

use std::time::Duration;

use postrider_contract::{Contract, Effect, Expr, Move, Role, Set};
use postrider_seams::Value;
use postrider_seams::row::Detail;

use crate::condition::{get, int, literal, role, state_of, was_deferred};
use crate::table::{NEVER, Row, Table, micros};
use crate::takeover;

/// What a move knows besides the row.
pub(crate) struct Given<'a> {
    pub now: i64,
    pub worker: &'a str,
    pub delay: Duration,
    pub reason: Option<&'a str>,
    pub receipt: Option<&'a str>,
    pub envelope: &'a Detail,
    pub outcome: &'a Detail,
}

/// The row after the move.
pub(crate) fn moved(
    contract: &Contract,
    step: &Move<'_>,
    row: &Row,
    given: &Given<'_>,
    tsid: &mut u64,
) -> Row {
    let mut after = row.clone();
    for assignment in contract.assignments(step) {
        let old = get(row, &assignment.column);
        let lease = micros(step.stage.lease.duration);
        let value = set(contract, &assignment.set, old, lease, row, &after, given, tsid);
        after.insert(assignment.column, value);
    }
    after
}

/// Inserts the rows that the move's effects ask for.
pub(crate) fn effects(
    contract: &Contract,
    step: &Move<'_>,
    before: &Row,
    after: &Row,
    given: &Given<'_>,
    table: &mut Table,
) {
    let wanted = |effect: &&Effect| effect.on.contains(&step.transition);
    for effect in contract.effects.iter().filter(wanted) {
        let mut tsid = table.next_tsid;
        let values = effect
            .values
            .iter()
            .map(|(column, value)| (column.clone(), expr(contract, value, before, after, given, &mut tsid)))
            .collect();
        table.next_tsid = tsid;
        table.effects.push((effect.table.clone(), values));
    }
}

#[allow(clippy::too_many_arguments)] // a private step of `moved`, which holds them all
pub(crate) fn set(
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
        Set::Increment => Value::Int(int(old).unwrap_or(0) + 1),
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

/// A move that the store itself makes, outside any settlement, to a row that the caller has chosen.
pub(crate) fn make(
    table: &mut Table,
    contract: &Contract,
    step: &Move<'_>,
    id: &postrider_seams::RowId,
    given: &Given<'_>,
) {
    let Some(before) = table.rows.get(id).cloned() else { return };
    let mut tsid = table.next_tsid;
    let after = moved(contract, step, &before, given, &mut tsid);
    table.next_tsid = tsid;
    debug_assert!(
        step.to.is_none() || state_of(contract, &after) == step.to,
        "a move's writes satisfy its target"
    );
    effects(contract, step, &before, &after, given, table);
    table.write(contract, id, after);
}
