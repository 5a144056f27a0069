//! Counts other rows that match this one (`[[count]]` of the contract).

use postrider_contract::{ColumnRole, Contract, CountField};
use postrider_rows::{Row, column_value, int, micros, role_value, was_deferred};

use crate::table::{TableState, row_id};

pub(crate) fn count(contract: &Contract, field: &CountField, table: &TableState, row: &Row, now: i64) -> i64 {
    let is_match = |other: &Row| {
        field.same.iter().all(|column| column_value(other, column) == column_value(row, column))
            && column_value(other, &contract.table.id) != column_value(row, &contract.table.id)
    };
    let is_recent = |other: &Row| {
        field.within.as_ref().is_none_or(|(age, since)| {
            int(column_value(other, since)).is_some_and(|since| since >= now - micros(*age))
        })
    };
    let claim = |row: &Row| {
        (int(role_value(contract, row, ColumnRole::ClaimedAt)), row_id(column_value(row, &contract.table.id)))
    };
    let is_ahead =
        |other: &Row| !field.ahead || (!was_deferred(contract, other) && claim(other) < claim(row));
    let others = table.in_states(&[field.state]);
    let found = others.iter().map(|id| &table.rows[id]);
    let found = found.filter(|other| is_match(other) && is_recent(other) && is_ahead(other)).count();
    i64::try_from(found).unwrap_or(i64::MAX)
}
