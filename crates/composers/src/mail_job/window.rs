//! The delivery window: the minutes of the local day between which mails may be sent (rule N11).

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, TimeZone, Timelike, Utc};
use chrono_tz::Tz;

/// Minutes of a day.
const DAY: u32 = 24 * 60;

/// A daily window from `start` to `end` (exclusive). It may wrap past midnight; `start == end` is the whole day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    start: u32,
    end: u32,
}

impl Window {
    /// Creates a window; `None` if a minute is outside the day. A missing start or end means midnight.
    pub fn new(start: Option<i64>, end: Option<i64>) -> Option<Self> {
        let minute = |given: Option<i64>, default: u32, most: u32| {
            given.map_or(Some(default), |given| u32::try_from(given).ok().filter(|given| *given <= most))
        };
        Some(Self { start: minute(start, 0, DAY - 1)?, end: minute(end, DAY, DAY)? })
    }

    fn contains(self, minute: u32) -> bool {
        match self.start.cmp(&self.end) {
            std::cmp::Ordering::Equal => true,
            std::cmp::Ordering::Less => (self.start..self.end).contains(&minute),
            std::cmp::Ordering::Greater => minute >= self.start || minute < self.end,
        }
    }

    /// Returns the next time at which the window opens; `None` while it is open.
    pub fn next_opening(self, now: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
        let local = now.with_timezone(&zone);
        let minute = local.hour() * 60 + local.minute();
        if self.contains(minute) {
            return None;
        }
        let today = local.date_naive();
        let days = [Some(today), today.checked_add_days(Days::new(1))];
        days.into_iter().flatten().flat_map(|day| self.openings(day, zone)).find(|moment| *moment > now)
    }

    /// Returns the times at which the window opens on a day: two if the clock is set back over the start. If the clock
    /// is set forward over the start, the first quarter of an hour that exists.
    fn openings(self, day: NaiveDate, zone: Tz) -> Vec<DateTime<Utc>> {
        let start = NaiveTime::from_hms_opt(self.start / 60, self.start % 60, 0)
            .expect("the start is a minute of a day");
        let quarters = (0..DAY / 15).map(|quarter| TimeDelta::minutes(i64::from(quarter) * 15));
        let found = quarters.map(|later| zone.from_local_datetime(&(day.and_time(start) + later)));
        let first = found.map(|found| [found.earliest(), found.latest()]).find(|found| found[0].is_some());
        first.into_iter().flatten().flatten().map(|moment| moment.with_timezone(&Utc)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn next_opening(start: i64, end: i64, now: &str, zone: Tz) -> Option<String> {
        let window = Window::new(Some(start), Some(end)).unwrap();
        window.next_opening(at(now), zone).map(|moment| moment.to_rfc3339())
    }

    #[test]
    fn n11_a_window_is_of_the_local_day() {
        let zone = Tz::America__New_York; // UTC-5 in November
        assert_eq!(next_opening(540, 1020, "2026-11-16T14:00:00Z", zone), None, "09:00 is in");
        assert_eq!(
            next_opening(540, 1020, "2026-11-16T13:59:59Z", zone).unwrap(),
            "2026-11-16T14:00:00+00:00"
        );
        assert_eq!(
            next_opening(540, 1020, "2026-11-16T22:00:00Z", zone).unwrap(),
            "2026-11-17T14:00:00+00:00",
            "17:00 is out"
        );
        assert_eq!(next_opening(540, 1020, "2026-11-16T14:00:00Z", Tz::UTC), None);
    }

    #[test]
    fn n11_a_window_may_wrap_midnight() {
        assert_eq!(next_opening(1320, 360, "2026-11-16T23:00:00Z", Tz::UTC), None);
        assert_eq!(next_opening(1320, 360, "2026-11-16T05:59:00Z", Tz::UTC), None);
        assert_eq!(
            next_opening(1320, 360, "2026-11-16T06:00:00Z", Tz::UTC).unwrap(),
            "2026-11-16T22:00:00+00:00"
        );
    }

    #[test]
    fn n11_equal_ends_are_the_whole_day_and_so_is_nothing() {
        assert_eq!(next_opening(600, 600, "2026-11-16T03:00:00Z", Tz::UTC), None);
        assert_eq!(Window::new(None, None).unwrap().next_opening(at("2026-11-16T03:00:00Z"), Tz::UTC), None);
        assert_eq!(next_opening(0, 1440, "2026-11-16T23:59:59Z", Tz::UTC), None);
    }

    #[test]
    fn n11_minutes_that_are_of_no_day_are_refused() {
        for (start, end) in [(-1, 60), (1440, 60), (0, 1441), (0, -5), (i64::MAX, 0)] {
            assert_eq!(Window::new(Some(start), Some(end)), None, "{start} {end}");
        }
    }

    #[test]
    fn n11_an_opening_that_the_clock_skips_is_the_next_moment_that_exists() {
        // In New York 02:30 of 2026-03-08 does not exist; 03:00 EDT is 07:00 UTC.
        let zone = Tz::America__New_York;
        assert_eq!(
            next_opening(150, 300, "2026-03-08T06:00:00Z", zone).unwrap(),
            "2026-03-08T07:00:00+00:00"
        );
        // 01:30 of 2026-11-01 exists twice; after the first one the second is still ahead.
        assert_eq!(next_opening(90, 95, "2026-11-01T05:40:00Z", zone).unwrap(), "2026-11-01T06:30:00+00:00");
    }
}
