//! Times on MySQL and MariaDB: sessions run in UTC, so `DATETIME` and `TIMESTAMP` columns compare with
//! `UTC_TIMESTAMP(6)`.

use super::{MOST_AHEAD, Shift};
use crate::render::column::Time;

pub(crate) fn clock(shift: &Shift) -> String {
    let now = "UTC_TIMESTAMP(6)";
    match shift {
        Shift::Micros(0) => now.to_owned(),
        Shift::Micros(micros) => format!("{now} {}", interval(*micros)),
        Shift::Values { seconds, micros: 0 } => {
            format!("{now} + INTERVAL ROUND({seconds} * 1000000) MICROSECOND")
        }
        Shift::Values { seconds, micros } => {
            format!("{now} + INTERVAL ROUND({seconds} * 1000000) MICROSECOND {}", interval(*micros))
        }
    }
}

fn interval(micros: i64) -> String {
    let sign = if micros < 0 { '-' } else { '+' };
    let micros = micros.unsigned_abs();
    if micros.is_multiple_of(1_000_000) {
        format!("{sign} INTERVAL {} SECOND", micros / 1_000_000)
    } else {
        format!("{sign} INTERVAL {micros} MICROSECOND")
    }
}

/// Converts a `DATETIME(6)` to the column's form.
pub(crate) fn shaped(form: Time, moment: &str) -> String {
    match form {
        Time::EpochSeconds => format!("FLOOR(UNIX_TIMESTAMP({moment}))"),
        Time::EpochMillis => format!("FLOOR(UNIX_TIMESTAMP({moment}) * 1000)"),
        Time::Iso => format!("CONCAT(LEFT(DATE_FORMAT({moment}, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z')"),
        Time::Zoned { .. } | Time::Zoneless { .. } | Time::Found { .. } => moment.to_owned(),
    }
}

/// Converts an ISO text to a `DATETIME(6)`.
fn parsed(column: &str) -> String {
    format!("STR_TO_DATE(LEFT({column}, 23), '%Y-%m-%dT%H:%i:%s.%f')")
}

/// Returns a time later than `old`. `GREATEST` is NULL if one argument is, so a first claim needs the `COALESCE`.
///
/// The value is cast to the column's precision: what is bound and compared later is then exactly what is stored,
/// whether the server rounds (MySQL) or truncates (MariaDB).
pub(crate) fn later(form: Time, old: &str, moment: &str) -> String {
    match form {
        Time::EpochSeconds | Time::EpochMillis => {
            let now = shaped(form, moment);
            format!("GREATEST({now}, COALESCE({old} + 1, 0))")
        }
        Time::Iso => {
            let old = parsed(old);
            shaped(
                form,
                &format!("GREATEST({moment}, COALESCE({old} + INTERVAL 1000 MICROSECOND, {moment}))"),
            )
        }
        // Only an old time near the clock is continued from: with one in the far future a lease would run until then,
        // and MySQL cannot add to its zero date.
        Time::Zoned { digits } | Time::Zoneless { digits } => format!(
            "CAST(CASE WHEN {old} BETWEEN {moment} {} AND {moment} {} THEN {old} {} ELSE {moment} END AS DATETIME({digits}))",
            interval(-form.tick()),
            interval(MOST_AHEAD),
            interval(form.tick())
        ),
        Time::Found { .. } => moment.to_owned(),
    }
}

pub(crate) fn micros_since(form: Time, column: &str) -> String {
    let now = "UTC_TIMESTAMP(6)";
    match form {
        Time::EpochSeconds => {
            format!("CAST(FLOOR(UNIX_TIMESTAMP({now}) * 1000000) - {column} * 1000000 AS SIGNED)")
        }
        Time::EpochMillis => {
            format!("CAST(FLOOR(UNIX_TIMESTAMP({now}) * 1000000) - {column} * 1000 AS SIGNED)")
        }
        Time::Iso => format!("TIMESTAMPDIFF(MICROSECOND, {}, {now})", parsed(column)),
        Time::Zoned { .. } | Time::Zoneless { .. } | Time::Found { .. } => {
            format!("TIMESTAMPDIFF(MICROSECOND, {column}, {now})")
        }
    }
}
