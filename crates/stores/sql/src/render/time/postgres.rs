//! Times on PostgreSQL: `now()` is the start of the transaction, so it is the same for a whole statement.

use super::{MOST_AHEAD, Shift};
use crate::render::column::Time;

pub(crate) fn clock(shift: &Shift) -> String {
    match shift {
        Shift::Micros(0) => "now()".to_owned(),
        Shift::Micros(micros) => format!("now() {}", interval(*micros)),
        Shift::Values { seconds, micros: 0 } => format!("now() + make_interval(secs => {seconds})"),
        Shift::Values { seconds, micros } => {
            format!("now() + make_interval(secs => {seconds}) {}", interval(*micros))
        }
    }
}

fn interval(micros: i64) -> String {
    let sign = if micros < 0 { '-' } else { '+' };
    let micros = micros.unsigned_abs();
    if micros.is_multiple_of(1_000_000) {
        format!("{sign} interval '{} seconds'", micros / 1_000_000)
    } else {
        format!("{sign} interval '{micros} microseconds'")
    }
}

/// Converts a `timestamptz` to the column's form.
pub(crate) fn shaped(form: Time, moment: &str) -> String {
    match form {
        Time::Zoneless { .. } => format!("(({moment}) AT TIME ZONE 'utc')"),
        Time::EpochSeconds => format!("floor(extract(epoch FROM {moment}))::bigint"),
        Time::EpochMillis => format!("floor(extract(epoch FROM {moment}) * 1000)::bigint"),
        Time::Iso => format!("to_char(({moment}) AT TIME ZONE 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"),
        Time::Zoned { .. } | Time::Found { .. } => moment.to_owned(),
    }
}

pub(crate) fn later(form: Time, old: &str, moment: &str) -> String {
    match form {
        Time::EpochSeconds | Time::EpochMillis => format!("GREATEST({}, {old} + 1)", shaped(form, moment)),
        Time::Iso => {
            let greatest = format!("GREATEST({moment}, {old}::timestamptz + interval '1 millisecond')");
            shaped(form, &greatest)
        }
        Time::Zoned { .. } | Time::Zoneless { .. } | Time::Found { .. } => {
            // Only an old time near the clock is continued from: with one in the far future a lease would run until
            // then.
            let (now, tick) = (shaped(form, moment), form.tick());
            let (back, ahead) = (interval(-tick), interval(MOST_AHEAD));
            let near = format!("{old} BETWEEN {now} {back} AND {now} {ahead}");
            format!("CASE WHEN {near} THEN {old} {} ELSE {now} END", interval(tick))
        }
    }
}

pub(crate) fn micros_since(form: Time, column: &str) -> String {
    let epoch = "extract(epoch FROM now())";
    match form {
        Time::EpochSeconds => format!("(floor({epoch} * 1000000)::bigint - {column}::bigint * 1000000)"),
        Time::EpochMillis => format!("(floor({epoch} * 1000000)::bigint - {column}::bigint * 1000)"),
        Time::Iso => format!("floor(extract(epoch FROM now() - {column}::timestamptz) * 1000000)::bigint"),
        // An infinite time has no difference to now.
        Time::Zoned { .. } | Time::Zoneless { .. } | Time::Found { .. } => format!(
            "CASE WHEN isfinite({column}) THEN floor(extract(epoch FROM {} - {column}) * 1000000)::bigint END",
            shaped(form, "now()")
        ),
    }
}
