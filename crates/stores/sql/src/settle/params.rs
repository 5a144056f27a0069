//! What statements about leases and settlements bind: a list of them, or values that all rows share.

use std::borrow::Cow;

use postrider_seams::row::{Lease, RowId, Value};
use postrider_seams::store::Settlement;

use crate::bind::params::field_value;
use crate::bind::{json, tsid};
use crate::typed::{Bound, Params};
use crate::{Dialect, Field, Param};

/// Leases to check or extend.
#[derive(Debug, Clone, Copy)]
pub struct Leases<'a>(pub &'a [&'a Lease]);

impl Params for Leases<'_> {
    fn value(&self, param: &Param, dialect: Dialect) -> Option<Bound<'_>> {
        field_value(self.0, |lease, field| lease_value(field, lease), param, dialect)
    }
}

/// Rows to settle.
#[derive(Debug, Clone, Copy)]
pub struct Settlements<'a>(pub &'a [&'a Settlement]);

impl Params for Settlements<'_> {
    fn value(&self, param: &Param, dialect: Dialect) -> Option<Bound<'_>> {
        if *param == Param::Ids {
            let ids: Vec<RowId> = self.0.iter().map(|settlement| settlement.lease.id.clone()).collect();
            return Some(Bound::Keys(Cow::Owned(ids)));
        }
        field_value(self.0, |settlement, field| settlement_value(field, settlement), param, dialect)
    }
}

/// Returns the value that a settlement has for a field; NULL if it has none.
pub(super) fn settlement_value(field: &Field, settlement: &Settlement) -> Value {
    match field {
        Field::Id | Field::Fence(_) | Field::Tsid => lease_value(field, &settlement.lease),
        Field::Delay => Value::Float(settlement.delay.as_secs_f64()),
        Field::Reason => settlement.reason.clone().map_or(Value::Null, Value::Text),
        Field::Receipt => settlement.receipt.clone().map_or(Value::Null, Value::Text),
        Field::Envelope(name) => settlement.envelope.get(name).cloned().unwrap_or_default(),
        Field::Outcome(name) => settlement.outcome.get(name).cloned().unwrap_or_default(),
        Field::Json(field) => match settlement_value(field, settlement) {
            Value::Null => Value::Null,
            plain => Value::Text(json(plain).to_string()),
        },
    }
}

fn lease_value(field: &Field, lease: &Lease) -> Value {
    match field {
        Field::Id => Value::Text(lease.id.to_string()),
        Field::Fence(index) => {
            lease.fence.get(*index).cloned().expect("the claim returned every value of the fence")
        }
        Field::Tsid => Value::Text(tsid()),
        Field::Delay
        | Field::Reason
        | Field::Receipt
        | Field::Envelope(_)
        | Field::Outcome(_)
        | Field::Json(_) => unreachable!("no statement about leases alone has {field:?}"),
    }
}
