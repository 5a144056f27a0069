//! Counts other rows that match this one (the contract's tallies).

use postrider_contract::{ColumnRole, Contract, CountField};
use postrider_rows::{Row, get, int, micros, role, was_deferred};

use crate::table::{TableState, row_id};

pub(crate) fn count(contract: &Contract, tally: &CountField, table: &TableState, row: &Row, now: i64) -> i64 {
    let is_match = |other: &Row| {
        tally.same.iter().all(|column| get(other, column) == get(row, column))
            && get(other, &contract.table.id) != get(row, &contract.table.id)
    };
    let is_recent = |other: &Row| {
        tally.within.as_ref().is_none_or(|(age, since)| {
            int(get(other, since)).is_some_and(|since| since >= now - micros(*age))
        })
    };
    let claim =
        |row: &Row| (int(role(contract, row, ColumnRole::ClaimedAt)), row_id(get(row, &contract.table.id)));
    let is_ahead =
        |other: &Row| !tally.ahead || (!was_deferred(contract, other) && claim(other) < claim(row));
    let others = table.in_states(&[tally.state]);
    let found = others.iter().map(|id| &table.rows[id]);
    let found = found.filter(|other| is_match(other) && is_recent(other) && is_ahead(other)).count();
    i64::try_from(found).unwrap_or(i64::MAX)
}
