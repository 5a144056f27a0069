//! PostgreSQL: an INSERT that does nothing if the key exists. Unlike an error, that does not abort the transaction.

use sqlx::{AssertSqlSafe, PgConnection};

use crate::connection::{Dialect, insert_or_find};
use crate::insert::Insert;
use crate::{Enqueued, Error, Times};

impl Dialect for PgConnection {
    const QUOTE: char = '"';
    const TIMES: Times = Times::Zoned;
    const CASTS: bool = true;

    fn placeholder(n: usize) -> String {
        format!("${n}")
    }

    /// Uses `clock_timestamp()`, because `now()` is constant within a transaction and records of one key are ordered by
    /// the time at which they were enqueued.
    fn now(times: Times) -> String {
        zoned(times, "clock_timestamp()")
    }

    fn after(times: Times, micros: &str) -> String {
        zoned(times, &format!("(clock_timestamp() + {micros} * interval '1 microsecond')"))
    }

    fn at(times: Times, micros: &str) -> String {
        zoned(times, &format!("('1970-01-01T00:00:00Z'::timestamptz + {micros} * interval '1 microsecond')"))
    }

    fn as_text(column: &str) -> String {
        format!("CAST({column} AS text)")
    }
}

fn zoned(times: Times, moment: &str) -> String {
    match times {
        Times::Zoned => moment.to_owned(),
        Times::Utc => format!("({moment} AT TIME ZONE 'UTC')"),
    }
}

insert_or_find!(PgConnection);
