//! Parses and formats durations: `30s`, or the ISO 8601 form `PT30S`.

use std::time::Duration;

const EXPECTED: &str = "a duration is a whole number and a unit, such as \"500ms\", \"30s\", \"5m\", \"1h\" or \"7d\", \
                        or an ISO 8601 duration such as \"PT0.5S\"";

const NANOS: u64 = 1_000_000_000;

/// Parses `500ms`, `30s`, `5m`, `1h`, `7d`, or ISO 8601 (`PT30S`); the error says what is expected.
pub fn parse_duration(text: &str) -> Result<Duration, &'static str> {
    if text.starts_with(['P', 'p']) {
        return iso(&text[1..].to_ascii_uppercase());
    }
    let (number, unit) = number(text).ok_or(EXPECTED)?;
    let seconds = match unit {
        "ms" => return Ok(Duration::from_millis(number)),
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(EXPECTED),
    };
    number.checked_mul(seconds).map(Duration::from_secs).ok_or("too long")
}

/// Parses a duration in which a plain number means seconds, as in URLs and variables.
pub fn duration_or_seconds(text: &str) -> Result<Duration, &'static str> {
    text.parse().map(Duration::from_secs).or_else(|_| parse_duration(text))
}

/// Formats a duration in the largest unit that is exact: `5m`.
pub fn format_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if duration.subsec_nanos() != 0 {
        return format!("{}ms", duration.as_millis());
    }
    match seconds {
        0 => "0s".to_owned(),
        _ if seconds.is_multiple_of(86_400) => format!("{}d", seconds / 86_400),
        _ if seconds.is_multiple_of(3_600) => format!("{}h", seconds / 3_600),
        _ if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

/// Parses what follows the `P`: weeks and days, then after a `T` hours, minutes and seconds, each at most once. Years
/// and months are refused because they have no fixed length.
fn iso(text: &str) -> Result<Duration, &'static str> {
    let (days, time) = match text.split_once('T') {
        Some((days, time)) if !time.is_empty() => (days, time),
        Some(_) => return Err(EXPECTED),
        None => (text, ""),
    };
    if days.is_empty() && time.is_empty() {
        return Err(EXPECTED);
    }
    if days.contains(['Y', 'M']) {
        return Err("years and months have no fixed length: write days, such as \"P30D\"");
    }
    let days = parts(days, &[('W', 604_800), ('D', 86_400)])?;
    let time = parts(time, &[('H', 3_600), ('M', 60), ('S', 1)])?;
    days.checked_add(time).ok_or("too long")
}

/// Returns the sum of numbers with units, which must be in the order of `units`. Only seconds may have a fraction.
fn parts(mut text: &str, mut units: &[(char, u64)]) -> Result<Duration, &'static str> {
    let mut sum = Duration::ZERO;
    while !text.is_empty() {
        let (whole, mut rest) = number(text).ok_or(EXPECTED)?;
        let mut fraction = Duration::ZERO;
        if let Some(digits) = rest.strip_prefix(['.', ',']) {
            (fraction, rest) =
                fraction_of(digits).filter(|(_, rest)| rest.starts_with('S')).ok_or(EXPECTED)?;
        }
        let unit = rest.chars().next().ok_or(EXPECTED)?;
        let at = units.iter().position(|(known, _)| *known == unit).ok_or(EXPECTED)?;
        let seconds = whole.checked_mul(units[at].1).ok_or("too long")?;
        sum = sum.checked_add(Duration::from_secs(seconds) + fraction).ok_or("too long")?;
        units = &units[at + 1..];
        text = &rest[unit.len_utf8()..];
    }
    Ok(sum)
}

/// Splits off the whole number at the start.
fn number(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    Some((number.parse().ok()?, rest))
}

/// Splits off the fraction of a second at the start: one to nine digits.
fn fraction_of(text: &str) -> Option<(Duration, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (value, rest) = number(text).filter(|_| digits <= 9)?;
    let scale = 10_u64.pow(u32::try_from(digits).ok()?);
    Some((Duration::from_nanos(value * (NANOS / scale)), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_and_iso_durations_are_read() {
        for (text, millis) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("7d", 604_800_000),
            ("PT1S", 1_000),
            ("PT0.5S", 500),
            ("pt0,25s", 250),
            ("PT0S", 0),
            ("PT5M", 300_000),
            ("PT1H30M", 5_400_000),
            ("P7D", 604_800_000),
            ("P1W", 604_800_000),
            ("P1DT1.001S", 86_401_001),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in [
            "",
            "5",
            "5 s",
            "m",
            "-1s",
            "P",
            "PT",
            "P1",
            "PT1",
            "PT.5S",
            "PT1.S",
            "PT1.5M",
            "PT1S1M",
            "PT1S1S",
            "P1H",
            "PT1D",
            "-PT1S",
            "PT-1S",
            "P1DT",
            "99999999999999999999s",
            "P99999999999999999999D",
            "P9999999999999999D",
            "PT1.0000000001S",
            "Pü",
            "PT1ü",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert!(parse_duration("P1Y").unwrap_err().contains("no fixed length"));
    }

    #[test]
    fn a_plain_number_is_seconds_only_where_that_is_allowed() {
        assert_eq!(duration_or_seconds("5"), Ok(Duration::from_secs(5)));
        assert_eq!(duration_or_seconds("250ms"), Ok(Duration::from_millis(250)));
        assert!(duration_or_seconds("soon").is_err());
    }

    #[test]
    fn a_formatted_duration_reads_back() {
        for text in ["500ms", "0s", "45s", "5m", "90s", "1h", "7d"] {
            assert_eq!(format_duration(parse_duration(text).unwrap()), text);
        }
    }
}
