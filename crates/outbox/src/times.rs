//! The times that a new row has, as expressions of the database, so that its clock decides.

use postrider_sql_builder::Dialect;

/// The type of the table's time columns, which hold UTC. SQLite always stores ISO 8601 text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeColumnType {
    /// Columns with a time zone: `timestamptz`, or MySQL's `TIMESTAMP`. Default on PostgreSQL.
    Zoned,
    /// Columns without a time zone that hold UTC: `timestamp`, or `DATETIME`. Default on MySQL.
    Utc,
}

/// The form of times on SQLite.
const FORM: &str = "%Y-%m-%dT%H:%M:%fZ";

impl TimeColumnType {
    /// Returns the type of time columns in the reference tables.
    pub(crate) fn of_reference_tables(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Postgres => Self::Zoned,
            Dialect::Mysql | Dialect::Sqlite => Self::Utc,
        }
    }

    /// Returns the expression for the current time of the database, in UTC.
    ///
    /// On PostgreSQL `clock_timestamp()`, because `now()` is constant within a transaction and records of one key are
    /// ordered by the time at which they were enqueued.
    pub(crate) fn now(self, dialect: Dialect) -> String {
        match dialect {
            Dialect::Postgres => self.on_postgres("clock_timestamp()"),
            Dialect::Mysql => self.mysql_clock().to_owned(),
            Dialect::Sqlite => format!("strftime('{FORM}', 'now')"),
        }
    }

    /// Returns the expression for the current time plus a number of microseconds.
    pub(crate) fn after(self, dialect: Dialect, micros: &str) -> String {
        match dialect {
            Dialect::Postgres => {
                self.on_postgres(&format!("(clock_timestamp() + {micros} * interval '1 microsecond')"))
            }
            Dialect::Mysql => format!("({} + INTERVAL {micros} MICROSECOND)", self.mysql_clock()),
            Dialect::Sqlite => {
                format!("strftime('{FORM}', 'now', printf('%.3f seconds', {micros} / 1000000.0))")
            }
        }
    }

    /// Returns the expression for a time given in microseconds since 1970.
    pub(crate) fn at(self, dialect: Dialect, micros: &str) -> String {
        match (dialect, self) {
            (Dialect::Postgres, _) => self.on_postgres(&format!(
                "('1970-01-01T00:00:00Z'::timestamptz + {micros} * interval '1 microsecond')"
            )),
            // The session's time zone applies when the value is written and when it is read.
            (Dialect::Mysql, Self::Zoned) => format!("FROM_UNIXTIME({micros} / 1000000)"),
            (Dialect::Mysql, Self::Utc) => {
                format!("(TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {micros} MICROSECOND)")
            }
            (Dialect::Sqlite, _) => format!("strftime('{FORM}', {micros} / 1000000.0, 'unixepoch')"),
        }
    }

    fn on_postgres(self, moment: &str) -> String {
        match self {
            Self::Zoned => moment.to_owned(),
            Self::Utc => format!("({moment} AT TIME ZONE 'UTC')"),
        }
    }

    /// The current time: in the session's time zone for a `TIMESTAMP` column, in UTC for `DATETIME`, which has no zone.
    fn mysql_clock(self) -> &'static str {
        match self {
            Self::Zoned => "CURRENT_TIMESTAMP(6)",
            Self::Utc => "UTC_TIMESTAMP(6)",
        }
    }
}
