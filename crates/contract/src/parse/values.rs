//! Types of values that several parts of the language share.

use std::ops::RangeInclusive;
use std::time::Duration;

use postrider_config::{Item, Value};

use crate::Literal;

/// The longest duration in a contract, ten years: sums stay far below the limits of every database.
const LONGEST: Duration = Duration::from_hours(3_650 * 24);

/// The allowed durations.
pub(super) const ANY_DURATION: RangeInclusive<Duration> = Duration::ZERO..=LONGEST;

/// The allowed durations where zero makes no sense.
pub(super) const POSITIVE: RangeInclusive<Duration> = Duration::from_nanos(1)..=LONGEST;

/// Returns the constant; a list or table is reported.
pub(super) fn literal(item: &Item<'_>) -> Option<Literal> {
    let found = match &item.node.value {
        Value::Text(text) | Value::Untyped(text) => Some(Literal::Text(text.clone())),
        Value::Integer(number) => Some(Literal::Int(*number)),
        Value::Float(number) => Some(Literal::Float(*number)),
        Value::Bool(boolean) => Some(Literal::Bool(*boolean)),
        Value::List(_) | Value::Table(_) | Value::Other { .. } => None,
    };
    if found.is_none() {
        item.expected("text, a number, or true or false");
    }
    found
}
