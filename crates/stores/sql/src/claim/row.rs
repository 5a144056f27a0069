//! Reads result rows by column position: claimed rows, leases, message fields, and the rows that operators see.

use std::collections::HashMap;
use std::sync::Arc;

use postrider_contract::{Counters, GroupMode, StateId};
use postrider_seams::row::{ClaimedRow, Fields, Lease, RowGroup, RowId, Value};
use postrider_seams::store::INLINE_LIMIT;

use crate::Layout;
use crate::bind::text;

/// Returns a key as the database returned it; `None` if the value cannot be a key.
pub fn key(value: Value) -> Option<RowId> {
    match value {
        Value::Int(id) => Some(RowId::Int(id)),
        Value::Text(id) => Some(RowId::Text(id.into())),
        Value::Null | Value::Bool(_) | Value::Float(_) | Value::Bytes(_) => None,
    }
}

/// Reads one row of [`Yields::Rows`](crate::Yields); `None` if it has no usable key.
///
/// The contents of the message columns never make a row unreadable.
pub fn claimed(
    layout: &Layout,
    from: Option<StateId>,
    mut get: impl FnMut(usize) -> Value,
) -> Option<ClaimedRow> {
    let lease = Lease { id: key(get(0))?, fence: (1..=layout.fences).map(&mut get).collect() };
    let at = layout.fences + 1;
    let counters = Counters {
        attempts: small(&get(at)).unwrap_or(0),
        max_attempts: small(&get(at + 1)),
        schedule: text(get(at + 2)),
    };
    let key = text(get(at + 3)).map(Arc::from);
    let on_error = text(get(at + 4)).and_then(|mode| GroupMode::from_name(&mode)).unwrap_or(GroupMode::Block);
    let group = key.map(|key| RowGroup { key, on_error });
    let pool = text(get(at + 5)).map(Arc::from);
    let share = text(get(at + 6)).map(Arc::from);
    let waited_micros = whole(&get(at + 7)).unwrap_or(0);
    let size = whole(&get(at + 8)).and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
    let fields = (size <= INLINE_LIMIT).then(|| read_fields(layout, at + 9, &mut get));
    Some(ClaimedRow {
        lease,
        counters,
        crashes: 0,
        since_crash: 0,
        from,
        group,
        pool,
        share,
        waited_micros,
        size,
        fields,
    })
}

/// Reads one row of a load: the key, then the fields; `None` if it has no usable key.
pub fn fields(layout: &Layout, mut get: impl FnMut(usize) -> Value) -> Option<(RowId, Fields)> {
    let id = key(get(0))?;
    Some((id, read_fields(layout, 1, &mut get)))
}

/// Reads one row of a join: the key, then the joined values; `None` if it has no usable key.
pub fn joined(layout: &Layout, mut get: impl FnMut(usize) -> Value) -> Option<(RowId, Vec<Value>)> {
    let id = key(get(0))?;
    Some((id, (1..=layout.joined.len()).map(get).collect()))
}

fn read_fields(layout: &Layout, start: usize, get: &mut impl FnMut(usize) -> Value) -> Fields {
    Fields::new(layout.fields.clone(), (start..start + layout.fields.len()).map(get).collect())
}

/// Reads one row of [`Yields::Leases`](crate::Yields); `None` if it has no usable key.
pub fn lease(layout: &Layout, mut get: impl FnMut(usize) -> Value) -> Option<Lease> {
    Some(Lease { id: key(get(0))?, fence: (1..=layout.fences).map(get).collect() })
}

/// Reads a count; 0 for NULL, negative numbers and values that are no number.
pub fn count(value: &Value) -> u64 {
    whole(value).and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
}

fn small(value: &Value) -> Option<u32> {
    whole(value).map(|number| u32::try_from(number.max(0)).unwrap_or(u32::MAX))
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
pub fn in_order(mut rows: Vec<ClaimedRow>, keys: &[RowId]) -> Vec<ClaimedRow> {
    let places: HashMap<&RowId, usize> = keys.iter().enumerate().map(|(place, key)| (key, place)).collect();
    rows.sort_by_key(|row| places.get(&row.lease.id).copied().unwrap_or(usize::MAX));
    rows
}
