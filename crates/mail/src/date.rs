//! Times of Date headers: parses the formats in which databases return times.

#[cfg(test)]
mod tests;

/// Returns the current Unix seconds, for headers only: no decision may depend on them.
pub fn now() -> i64 {
    mail_builder::headers::date::Date::now().date
}

/// Parses `YYYY-MM-DD HH:MM:SS[.f][Z|±HH[:MM]]` (also with a `T`) to Unix seconds; without a zone it is UTC (rule G5).
pub fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    let bytes = text.as_bytes();
    if !text.is_ascii() || bytes.len() < 19 {
        return None;
    }
    let separators = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    if separators.iter().any(|&(at, byte)| bytes[at] != byte) || !matches!(bytes[10], b' ' | b'T' | b't') {
        return None;
    }
    let (year, month, day) = (digits(&text[..4])?, digits(&text[5..7])?, digits(&text[8..10])?);
    let (hour, minute, second) = (digits(&text[11..13])?, digits(&text[14..16])?, digits(&text[17..19])?);
    let in_range =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    let zone = offset(&text[19..])?;
    in_range.then(|| days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - zone)
}

/// Converts a number of seconds, milliseconds or microseconds to Unix seconds; its magnitude determines the unit.
pub fn from_epoch(number: i64) -> i64 {
    match number.unsigned_abs() {
        0..100_000_000_000 => number,
        100_000_000_000..100_000_000_000_000 => number.div_euclid(1_000),
        _ => number.div_euclid(1_000_000),
    }
}

fn digits(text: &str) -> Option<i64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Parses an optional fraction and a zone; returns the seconds east of UTC.
fn offset(rest: &str) -> Option<i64> {
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let (sign, zone) = match zone.as_bytes().first() {
        None | Some(b'Z' | b'z') if zone.len() <= 1 => return Some(0),
        Some(b'+') => (1, &zone[1..]),
        Some(b'-') => (-1, &zone[1..]),
        _ => return None,
    };
    let hours = digits(zone.get(..2)?)?;
    let minutes = match zone[2..].trim_start_matches(':') {
        "" => 0,
        minutes => digits(minutes)?,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Returns the days since 1970-01-01 of a Gregorian date. Years start in March, so that the leap day is last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

/// Formats Unix seconds as `YYYY-MM-DDTHH:MM:SSZ`.
pub fn rfc3339(seconds: i64) -> String {
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Eras of 400 years that start in March; the inverse of `days`.
    let shifted = day + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let date = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}
