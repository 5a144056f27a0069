//! The time of a Date header, from the forms in which databases hand out times.

#[cfg(test)]
mod tests;

/// Now, in Unix seconds. Nothing is decided by it: it only stands in a header for people to read.
pub fn now() -> i64 {
    mail_builder::headers::date::Date::now().date
}

/// Unix seconds of `YYYY-MM-DD HH:MM:SS[.f][Z|±HH[:MM]]` (also with a `T`); without a zone it is UTC (rule G5).
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

/// `YYYY-MM-DDTHH:MM:SSZ`, for machines to read.
pub fn rfc3339(seconds: i64) -> String {
    let (days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years from March on have their leap day at the end.
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + i64::from(month <= 2);
    let (hour, minute, second) = (time / 3600, time % 3600 / 60, time % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Unix seconds of a whole number that counts seconds, milliseconds or microseconds; which, its size tells.
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

/// Seconds east of UTC, after an optional fraction.
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

/// Days since 1970-01-01 of a date of the Gregorian calendar. Years start in March, so that the leap day is last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}
