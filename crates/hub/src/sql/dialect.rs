//! Expressions that the dialects write differently.

use super::Dialect;

/// Returns the expression for the client of a row in unique indexes; empty for a row without a client.
pub fn client_key(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Mysql => "client_key",
        Dialect::Postgres | Dialect::Sqlite => "coalesce(client_id, '')",
    }
}

/// Returns the expression for the status of a job in lists.
///
/// Where the contract's index of states finds these jobs, PostgreSQL would use another index of some of them, and sort
/// them, if the bare column were named.
pub fn status_for_lists(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Mysql => "`status`",
        Dialect::Postgres | Dialect::Sqlite => "(status || '')",
    }
}

/// The sort order of PostgreSQL's indexes of one kind of rows, which the primary key does not have.
///
/// Its planner assumes that rows of every kind are evenly distributed: if the newest half million rows are of another
/// kind, it would read all of them by key instead of using the index of the requested kind.
pub const NEWEST: &str = " DESC NULLS LAST";

/// Returns the expression for the time of the database.
pub fn now(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "now()",
        Dialect::Mysql => "UTC_TIMESTAMP(6)",
        Dialect::Sqlite => "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
    }
}

/// Returns the expression for the time this many seconds from now; negative: in the past.
pub fn now_plus(dialect: Dialect, seconds: i64) -> String {
    match dialect {
        Dialect::Postgres => format!("now() + interval '{seconds} seconds'"),
        Dialect::Mysql => format!("UTC_TIMESTAMP(6) + INTERVAL {seconds} SECOND"),
        Dialect::Sqlite => format!("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '{seconds} seconds')"),
    }
}

/// Returns the expression that selects a time as text, with microseconds.
pub fn time_text(dialect: Dialect, time: &str) -> String {
    match dialect {
        Dialect::Postgres => {
            format!("to_char({time} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
        }
        Dialect::Mysql => format!("DATE_FORMAT({time}, '%Y-%m-%dT%H:%i:%s.%fZ')"),
        Dialect::Sqlite => time.to_owned(),
    }
}
