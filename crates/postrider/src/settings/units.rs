//! Parses and formats durations and sizes.

use std::time::Duration;

/// Parses `500ms 30s 5m 1h 7d`, or ISO 8601 (`PT30S`); `None` if invalid.
pub fn duration(text: &str) -> Option<Duration> {
    postrider_contract::duration(text.trim()).ok()
}

/// Parses bytes: a whole number, optionally with `KB`, `MB` or `GB` (powers of 1024); `None` if invalid.
pub fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let count: u64 = text[..digits].parse().ok()?;
    let factor = match text[digits..].trim() {
        "" | "B" => 1,
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        _ => return None,
    };
    count.checked_mul(factor)
}

/// Formats a duration in the shortest exact form.
pub fn written(duration: Duration) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_read() {
        assert_eq!(duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(duration("7d"), Some(Duration::from_hours(168)));
        assert_eq!(duration(" PT0.5S "), Some(Duration::from_millis(500)));
        for wrong in ["", "5", "5 parsecs", "m", "-1s", "99999999999999999999s"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
        assert_eq!(bytes("25MB"), Some(25 * 1024 * 1024));
        assert_eq!(bytes("4096"), Some(4096));
        assert_eq!(bytes("many"), None);
    }

    #[test]
    fn a_written_duration_reads_back() {
        for text in ["500ms", "0s", "45s", "5m", "1h", "7d"] {
            assert_eq!(written(duration(text).unwrap()), text);
        }
    }
}
