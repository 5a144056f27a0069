//! Times on SQLite, which has no time type: a column may hold text in several forms, or numbers, even mixed.
//!
//! All are read as milliseconds since the epoch, compared as such, and written in the form that the row already uses.

use super::{MOST_AHEAD, Shift};
use crate::render::column::{Fallback, Number, Time};

/// Returns the clock in milliseconds since the epoch. The `+ 0` removes the cast's affinity, which would prevent the
/// use of an index on [`instant`].
pub(crate) fn clock(shift: &Shift) -> String {
    let now = "CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)";
    match shift {
        Shift::Micros(micros) if *micros < 0 => format!("{now} - {}", micros.unsigned_abs() / 1000),
        Shift::Micros(micros) => format!("{now} + {}", micros / 1000),
        Shift::Values { seconds, micros } => {
            let sign = if *micros < 0 { '-' } else { '+' };
            format!(
                "{now} + CAST(round({seconds} * 1000.0) AS INTEGER) {sign} {}",
                micros.unsigned_abs() / 1000
            )
        }
    }
}

/// Returns a value's instant in milliseconds. It is deterministic, so that an index may hold it. A text of digits only
/// is a number that was written to a text column.
pub(crate) fn instant(form: Time, column: &str) -> String {
    let number = match form {
        Time::Found { number: Number::Seconds, .. } => format!("CAST({column} * 1000 AS INTEGER)"),
        _ => format!("CAST({column} AS INTEGER)"),
    };
    format!(
        "CASE WHEN {} THEN {number} ELSE CAST(round((julianday({column}) - 2440587.5) * 86400000.0) AS INTEGER) END",
        is_number(column)
    )
}

fn is_number(value: &str) -> String {
    format!("typeof({value}) IN ('integer', 'real') OR {value} NOT GLOB '*[^0-9]*'")
}

/// Converts milliseconds to the form of `found`, or else to the contract's form.
pub(crate) fn shaped(form: Time, millis: &str, found: &str) -> String {
    let Time::Found { number, fallback } = form else { return millis.to_owned() };
    let number = match number {
        Number::Seconds => format!("({millis}) / 1000"),
        Number::Millis => millis.to_owned(),
    };
    let formatted = |form: &str| format!("strftime('{form}', ({millis}) / 1000.0, 'unixepoch')");
    let blank = formatted("%Y-%m-%d %H:%M:%f");
    let iso = formatted("%Y-%m-%dT%H:%M:%fZ");
    let is_number = is_number(found);
    match fallback {
        Fallback::Iso => format!(
            "CASE WHEN {is_number} THEN {number} WHEN {found} GLOB '????-??-?? *' THEN {blank} ELSE {iso} END"
        ),
        Fallback::Number => format!(
            "CASE WHEN {found} GLOB '????-??-?? *' THEN {blank} WHEN {found} GLOB '????-??-??T*' THEN {iso} \
             ELSE {number} END"
        ),
    }
}

pub(crate) fn later(form: Time, old: &str, millis: &str, found: &str) -> String {
    let tick = form.tick() / 1000;
    let (old, ahead) = (instant(form, old), MOST_AHEAD / 1000);
    // Only an old time near the clock is continued from: with one in the far future a lease would run until then.
    let near = format!("{old} BETWEEN {millis} - {tick} AND {millis} + {ahead}");
    shaped(form, &format!("CASE WHEN {near} THEN {old} + {tick} ELSE {millis} END"), found)
}
