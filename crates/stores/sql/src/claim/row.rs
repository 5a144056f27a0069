//! Reads the rows of claims, and the values that every result has: keys and numbers.

use std::collections::HashMap;
use std::sync::Arc;

use postrider_contract::{Counters, GroupMode, StateId};
use postrider_seams::row::{ClaimedRow, Fields, RowGroup, RowId, Value};
use postrider_seams::store::INLINE_LIMIT;

use crate::Layout;
use crate::typed::Columns;

/// Returns a key as the database returned it; `None` if the value cannot be a key.
pub fn key(value: Value) -> Option<RowId> {
    match value {
        Value::Int(id) => Some(RowId::Int(id)),
        Value::Text(id) => Some(RowId::Text(id.into())),
        Value::Null | Value::Bool(_) | Value::Float(_) | Value::Bytes(_) => None,
    }
}

/// Reads the rows of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimReader {
    pub layout: Layout,
    /// The state from which all rows were claimed, if it is one.
    pub from: Option<StateId>,
}

impl ClaimReader {
    /// Reads a row in the order of [`Layout`]; `None` if it has no usable key.
    ///
    /// The contents of the message columns never make a row unreadable.
    pub fn read(&self, mut row: Columns) -> Option<ClaimedRow> {
        let Some(lease) = row.lease(self.layout.fences) else {
            tracing::error!("a claimed row has no readable key; it is left to its lease");
            return None;
        };
        let counters = Counters {
            attempts: small(row.whole()).unwrap_or(0),
            max_attempts: small(row.whole()),
            schedule: row.text(),
        };
        let key = row.text().map(Arc::from);
        let on_error = row.text().and_then(|mode| GroupMode::from_name(&mode)).unwrap_or(GroupMode::Block);
        let group = key.map(|key| RowGroup { key, on_error });
        let (pool, share) = (row.text().map(Arc::from), row.text().map(Arc::from));
        let waited_micros = row.whole().unwrap_or(0);
        let size = row.count();
        let fields = (size <= INLINE_LIMIT).then(|| read_fields(&self.layout.fields, row));
        Some(ClaimedRow {
            lease,
            counters,
            crashes: 0,
            since_crash: 0,
            from: self.from,
            group,
            pool,
            share,
            waited_micros,
            size,
            fields,
        })
    }
}

/// Reads the values of these fields.
pub(super) fn read_fields(names: &Arc<[String]>, mut row: Columns) -> Fields {
    let values = row.values(names.len()).collect();
    Fields::new(names.clone(), values)
}

/// Reads a count; 0 for NULL, negative numbers and values that are no number.
pub fn count(value: &Value) -> u64 {
    whole(value).and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
}

fn small(number: Option<i64>) -> Option<u32> {
    number.map(|number| u32::try_from(number.max(0)).unwrap_or(u32::MAX))
}

/// Reads a whole number from an integer, a flag, a float (its integer part) or a text; else `None`.
pub fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::Bool(flag) => Some(i64::from(*flag)),
        Value::Text(text) => text.trim().parse().ok(),
        // A counter column of a floating-point type: its integer part is the count.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "saturates, which is what a bound on a counter wants"
        )]
        Value::Float(number) => Some(*number as i64),
        Value::Null | Value::Bytes(_) => None,
    }
}

/// Sorts claimed rows into the order of `keys`, for databases that return updated rows in any order.
pub fn in_order(rows: &mut [ClaimedRow], keys: &[RowId]) {
    let places: HashMap<&RowId, usize> = keys.iter().enumerate().map(|(place, key)| (key, place)).collect();
    rows.sort_by_key(|row| places.get(&row.lease.id).copied().unwrap_or(usize::MAX));
}
