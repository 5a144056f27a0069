//! SQLite has no time type: a column may hold text in several forms, or numbers, even mixed. All are read as
//! milliseconds since the epoch, compared as such, and written back in the form that the row already uses.

use super::{MOST_AHEAD, Shift};
use crate::column::{Fallback, Number, Time};

/// Milliseconds since the epoch. The `+ 0` takes away the cast's affinity, which would keep an index on
/// [`instant`] from being used.
pub(super) fn clock(shift: &Shift) -> String {
    let now = "CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)";
    match shift {
        Shift::Micros(micros) if *micros < 0 => format!("{now} - {}", micros.unsigned_abs() / 1000),
        Shift::Micros(micros) => format!("{now} + {}", micros / 1000),
        Shift::Given { seconds, micros } => {
            let sign = if *micros < 0 { '-' } else { '+' };
            format!(
                "{now} + CAST(round({seconds} * 1000.0) AS INTEGER) {sign} {}",
                micros.unsigned_abs() / 1000
            )
        }
    }
}

/// A value's instant in milliseconds. Deterministic, so an index may hold it. Digits alone are a number that came
/// into a text column.
pub(super) fn instant(form: Time, column: &str) -> String {
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

/// Milliseconds in the form of `found`, else in the contract's own.
pub(super) fn shaped(form: Time, millis: &str, found: &str) -> String {
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

pub(super) fn later(form: Time, old: &str, millis: &str, found: &str) -> String {
    let tick = form.tick() / 1000;
    let (old, ahead) = (instant(form, old), MOST_AHEAD / 1000);
    // After a time in the far future a lease would run until then: only what is near the clock is followed.
    let near = format!("{old} BETWEEN {millis} - {tick} AND {millis} + {ahead}");
    shaped(form, &format!("CASE WHEN {near} THEN {old} + {tick} ELSE {millis} END"), found)
}
