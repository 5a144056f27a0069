//! Interprets the declared type of a column: how it is cast to and from text, and how it holds a time.

use postrider_contract::TimeForm;

use crate::{Dialect, Error, ShapeColumn};

/// The kind of value in a column, as far as rendering needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Integer,
    Bool,
    Text,
    Json,
    Binary,
    /// Floats, decimals, UUIDs, enums, times: read and written as text with a cast.
    Other,
}

/// The representation of a time in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Time {
    /// PostgreSQL `timestamptz`.
    Zoned {
        digits: u32,
    },
    /// PostgreSQL `timestamp`, MySQL `DATETIME` and `TIMESTAMP`: UTC.
    Zoneless {
        digits: u32,
    },
    EpochSeconds,
    EpochMillis,
    /// Only the form `2026-01-31T12:00:00.000Z`.
    Iso,
    /// SQLite: any of its usual forms, recognized from the value.
    Found {
        number: Number,
        fallback: Fallback,
    },
}

/// The unit of a number in a SQLite time column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    Seconds,
    Millis,
}

/// The form to write if the row has no value to infer it from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fallback {
    Iso,
    Number,
}

impl Time {
    /// Returns the resolution of the column, in microseconds.
    pub fn tick(self) -> i64 {
        match self {
            Self::Zoned { digits } | Self::Zoneless { digits } => 10_i64.pow(6 - digits.min(6)),
            Self::EpochSeconds | Self::Found { number: Number::Seconds, .. } => 1_000_000,
            Self::EpochMillis | Self::Iso | Self::Found { number: Number::Millis, .. } => 1_000,
        }
    }
}

impl Kind {
    /// Returns the kind of a declared SQL type.
    pub fn of(sql_type: &str) -> Self {
        let full = sql_type.to_ascii_lowercase();
        // Ignore the values in the parentheses of an enum: they are not part of the type's name.
        let lower = full.split('(').next().unwrap_or_default();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        if lower == "boolean" || lower == "bool" || full == "tinyint(1)" {
            Self::Bool
        } else if has(&["interval", "point"]) {
            Self::Other
        } else if has(&["int", "serial"]) {
            Self::Integer
        } else if has(&["json"]) {
            Self::Json
        } else if has(&["char", "text", "clob"]) {
            Self::Text
        } else if has(&["bytea", "blob", "binary"]) {
            Self::Binary
        } else {
            Self::Other
        }
    }
}

/// Returns the number of fractional digits of a second: `timestamp(3)` has 3, a bare `timestamp` 6 on PostgreSQL and 0
/// on MySQL.
fn digits(dialect: Dialect, sql_type: &str) -> u32 {
    let inside =
        sql_type.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(digits, _)| digits);
    let default = if dialect == Dialect::Mysql { 0 } else { 6 };
    inside.and_then(|digits| digits.trim().parse().ok()).unwrap_or(default)
}

/// Returns how `column` holds a time, from the contract's time form and the column's type; errs if they do not fit.
pub(crate) fn time(dialect: Dialect, form: TimeForm, column: &ShapeColumn) -> Result<Time, Error> {
    let lower = column.sql_type.to_ascii_lowercase();
    let digits = digits(dialect, &lower);
    let kind = Kind::of(&lower);
    let fits = match (dialect, form) {
        (Dialect::Sqlite, form) => Some(found(form)),
        (_, TimeForm::Native) if lower.contains("with time zone") || lower.contains("timestamptz") => {
            Some(Time::Zoned { digits })
        }
        (_, TimeForm::Native) if lower.contains("timestamp") || lower.contains("datetime") => {
            Some(Time::Zoneless { digits })
        }
        (_, TimeForm::EpochSeconds) if kind == Kind::Integer => Some(Time::EpochSeconds),
        (_, TimeForm::EpochMillis) if kind == Kind::Integer => Some(Time::EpochMillis),
        (_, TimeForm::Iso8601) if kind == Kind::Text => Some(Time::Iso),
        _ => None,
    };
    let form = match form {
        TimeForm::Native => "native",
        TimeForm::EpochSeconds => "epoch_s",
        TimeForm::EpochMillis => "epoch_ms",
        TimeForm::Iso8601 => "iso8601",
    };
    fits.ok_or_else(|| Error::NotATime {
        column: column.name.clone(),
        sql_type: column.sql_type.clone(),
        form,
    })
}

fn found(form: TimeForm) -> Time {
    match form {
        TimeForm::EpochSeconds => Time::Found { number: Number::Seconds, fallback: Fallback::Number },
        TimeForm::EpochMillis => Time::Found { number: Number::Millis, fallback: Fallback::Number },
        TimeForm::Native | TimeForm::Iso8601 => {
            Time::Found { number: Number::Millis, fallback: Fallback::Iso }
        }
    }
}

/// Returns the type to which keys, fences and fields are cast on PostgreSQL, without a length that would truncate them.
pub(crate) fn postgres_type(sql_type: &str) -> String {
    let lower = sql_type.to_ascii_lowercase();
    if lower.starts_with("character varying") || lower.starts_with("varchar") {
        "varchar".to_owned()
    } else if lower.starts_with("character") || lower.starts_with("char(") || lower == "bpchar" {
        // `character` without a length means one character.
        "bpchar".to_owned()
    } else {
        sql_type.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(sql_type: &str) -> ShapeColumn {
        ShapeColumn::new("at", sql_type)
    }

    #[test]
    fn precision_is_read_from_the_type() {
        let of = |dialect, sql_type| time(dialect, TimeForm::Native, &column(sql_type)).map(Time::tick);
        assert_eq!(of(Dialect::Postgres, "timestamp with time zone"), Ok(1));
        assert_eq!(of(Dialect::Postgres, "timestamp(3) without time zone"), Ok(1_000));
        assert_eq!(of(Dialect::Mysql, "datetime(6)"), Ok(1));
        assert_eq!(of(Dialect::Mysql, "timestamp"), Ok(1_000_000));
        assert_eq!(of(Dialect::Sqlite, "TEXT"), Ok(1_000));
    }

    #[test]
    fn a_type_that_holds_no_time_is_an_error() {
        assert!(time(Dialect::Postgres, TimeForm::Native, &column("bigint")).is_err());
        assert!(time(Dialect::Mysql, TimeForm::EpochMillis, &column("datetime(6)")).is_err());
        assert_eq!(time(Dialect::Postgres, TimeForm::EpochMillis, &column("bigint")), Ok(Time::EpochMillis));
    }

    #[test]
    fn keys_are_never_cut_by_a_cast() {
        assert_eq!(postgres_type("character varying(26)"), "varchar");
        assert_eq!(postgres_type("character(36)"), "bpchar");
        assert_eq!(postgres_type("uuid"), "uuid");
    }

    #[test]
    fn kinds_follow_the_names_of_three_databases() {
        for (name, kind) in [
            ("bigint", Kind::Integer),
            ("INTEGER", Kind::Integer),
            ("int(10) unsigned", Kind::Integer),
            ("jsonb", Kind::Json),
            ("longtext", Kind::Text),
            ("character varying(500)", Kind::Text),
            ("bytea", Kind::Binary),
            ("longblob", Kind::Binary),
            ("uuid", Kind::Other),
            ("timestamp with time zone", Kind::Other),
            ("tinyint(1)", Kind::Bool),
            ("enum('INTAKING','TEXT')", Kind::Other),
        ] {
            assert_eq!(Kind::of(name), kind, "{name}");
        }
    }
}
