//! Points in time with microseconds, in the formats of the API and the databases.

use std::fmt;

use postrider_sql::Dialect;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};

/// A point in time: microseconds since 1970 in UTC, between the years 1 and 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

/// 0001-01-01 and 9999-12-31T23:59:59.999999.
const FIRST: i64 = -62_135_596_800_000_000;
const LAST: i64 = 253_402_300_799_999_999;

impl Moment {
    /// The mistake in a text that is not a time.
    pub const EXPECTED: &str = "must be an RFC 3339 time such as 2026-01-31T09:30:00Z";

    /// Creates a moment from microseconds since 1970; values outside the years 1 to 9999 are clamped.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(FIRST, LAST))
    }

    /// Returns the time of this machine's clock, for display only: decisions use the database's clock.
    pub fn now() -> Self {
        let micros = OffsetDateTime::now_utc().unix_timestamp_nanos() / 1000;
        Self::from_micros(i64::try_from(micros).unwrap_or(LAST))
    }

    /// Returns the microseconds since 1970.
    pub fn micros(self) -> i64 {
        self.0
    }

    /// Returns the microseconds from this moment to a later one; 0 if that one is earlier.
    pub fn micros_until(self, later: Self) -> u64 {
        u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0)
    }

    /// Returns the moment this many seconds later, at most the end of the year 9999.
    #[must_use]
    pub fn after_seconds(self, seconds: i64) -> Self {
        Self::from_micros(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }

    /// Parses RFC 3339 with any offset; `None` if the text is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        let moment = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        let micros = i64::try_from(moment.unix_timestamp_nanos() / 1000).ok()?;
        (FIRST..=LAST).contains(&micros).then_some(Self(micros))
    }

    /// Parses a time as databases return it; `None` if the text is not valid.
    ///
    /// Accepts RFC 3339, the same with a space and no zone (UTC) or `+00`, and milliseconds since 1970.
    pub fn from_database(text: &str) -> Option<Self> {
        if let Ok(millis) = text.parse::<i64>() {
            return Some(Self::from_micros(millis.saturating_mul(1000)));
        }
        let text = text.strip_suffix("+00").unwrap_or(text);
        let zoned =
            if text.ends_with('Z') { text.to_owned() } else { format!("{}Z", text.replace(' ', "T")) };
        Self::parse(&zoned)
    }

    /// Formats the time for a column of the dialect. SQLite stores milliseconds.
    pub(crate) fn for_column(self, dialect: Dialect) -> String {
        let (seconds, micros) = self.parts();
        match dialect {
            Dialect::Postgres => format!("{seconds}.{micros:06}Z"),
            Dialect::Mysql => format!("{}.{micros:06}", seconds.replace('T', " ")),
            Dialect::Sqlite => format!("{seconds}.{:03}Z", micros / 1000),
        }
    }

    fn parts(self) -> (String, i64) {
        let (seconds, micros) = (self.0.div_euclid(1_000_000), self.0.rem_euclid(1_000_000));
        let at = OffsetDateTime::from_unix_timestamp(seconds)
            .expect("a moment lies between the years 1 and 9999")
            .to_offset(UtcOffset::UTC);
        let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
        let (hour, minute, second) = (at.hour(), at.minute(), at.second());
        (format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"), micros)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, micros) = self.parts();
        match micros {
            0 => write!(f, "{seconds}Z"),
            whole if whole % 1000 == 0 => write!(f, "{seconds}.{:03}Z", whole / 1000),
            _ => write!(f, "{seconds}.{micros:06}Z"),
        }
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(Self::EXPECTED))
    }
}

impl utoipa::PartialSchema for Moment {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .format(Some(utoipa::openapi::SchemaFormat::KnownFormat(utoipa::openapi::KnownFormat::DateTime)))
            .description(Some(
                "A time as RFC 3339, for example `2026-01-31T09:30:00Z`. Responses are in UTC.",
            ))
            .into()
    }
}

impl utoipa::ToSchema for Moment {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_in_every_form_and_written_in_the_databases_own() {
        let moment = Moment::parse("2026-01-31T10:30:00.25+01:00").expect("RFC 3339");
        assert_eq!(moment.to_string(), "2026-01-31T09:30:00.250Z");
        assert_eq!(moment.for_column(Dialect::Postgres), "2026-01-31T09:30:00.250000Z");
        assert_eq!(moment.for_column(Dialect::Mysql), "2026-01-31 09:30:00.250000");
        assert_eq!(moment.for_column(Dialect::Sqlite), "2026-01-31T09:30:00.250Z");
        for form in ["2026-01-31 09:30:00.250000", "2026-01-31T09:30:00.25Z", "1769851800250"] {
            assert_eq!(Moment::from_database(form), Some(moment), "{form}");
        }
        assert_eq!(
            Moment::parse("2026-01-31T09:30:00Z").map(|moment| moment.to_string()),
            Some("2026-01-31T09:30:00Z".to_owned())
        );
    }

    #[test]
    fn invalid_times_are_refused() {
        for text in ["", "yesterday", "2026-02-30T00:00:00Z", "2026-01-31", "0000-01-01T00:00:00+23:59"] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }
}
