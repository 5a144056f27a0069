//! Parses `Retry-After`: seconds, or an HTTP date.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use postrider_http::HeaderMap;

/// Returns the requested wait, at most `longest`, or `None` if it is missing or unreadable. `now` is in Unix seconds.
pub(crate) fn read(headers: &HeaderMap, longest: Duration, now: i64) -> Option<Duration> {
    let text = headers.get("retry-after")?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.parse().map_or(longest, Duration::from_secs).min(longest));
    }
    let then = httpdate::parse_http_date(text).ok()?;
    let now = UNIX_EPOCH + Duration::from_secs(now.try_into().unwrap_or(0));
    Some(SystemTime::duration_since(&then, now).unwrap_or_default().min(longest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", text.parse().unwrap());
        // Sun, 06 Nov 1994 08:49:37 GMT
        read(&headers, Duration::from_hours(24), 784_111_777).map(|wait| wait.as_secs())
    }

    #[test]
    fn j05_seconds_and_dates_are_read_up_to_the_longest() {
        assert_eq!(asked("120"), Some(120));
        assert_eq!(asked("0"), Some(0));
        assert_eq!(asked("86401"), Some(86_400));
        assert_eq!(asked("99999999999999999999999"), Some(86_400));
        assert_eq!(asked("Sun, 06 Nov 1994 08:50:37 GMT"), Some(60));
        assert_eq!(asked("Sunday, 06-Nov-94 08:50:37 GMT"), Some(60));
        assert_eq!(asked("Sun, 06 Nov 1994 08:48:37 GMT"), Some(0), "it has passed");
        assert_eq!(asked("Tue, 08 Nov 1994 08:49:37 GMT"), Some(86_400));
        for wrong in ["", "soon", "-1", "1.5", "12s"] {
            assert_eq!(asked(wrong), None, "{wrong}");
        }
        assert_eq!(read(&HeaderMap::new(), Duration::from_hours(24), 0), None);
    }
}
