//! Maps errors of sqlx and MySQL to the three classes that the engine distinguishes.

use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use postrider_seams::is_exhausted;
use postrider_seams::store::{Class, Error};
use postrider_sql::driver::errors::DriverErrors;
use postrider_sql::internal;
use sqlx::mysql::{MySqlConnectOptions, MySqlDatabaseError};

/// Host, port and database for messages, without user or password.
#[derive(Debug, Clone)]
pub struct DatabaseAddress(Arc<str>);

impl DatabaseAddress {
    /// Creates the place of connection options.
    pub fn new(options: &MySqlConnectOptions) -> Self {
        let database = options.get_database().unwrap_or_default();
        Self(format!("MySQL {}:{}/{database}", options.get_host(), options.get_port()).into())
    }
}

impl fmt::Display for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Converts an error of sqlx into an error of the store; `doing` completes "could not …".
pub fn classify(place: &DatabaseAddress, doing: &str, cause: sqlx::Error) -> Error {
    let class = class(&cause);
    let what = match (&cause, number(&cause)) {
        (sqlx::Error::Database(inner), Some(number)) => format!("{} (error {number})", inner.message()),
        (sqlx::Error::PoolTimedOut, _) => {
            "no connection became available in time: the server is unreachable, or all connections are in use"
                .to_owned()
        }
        // The message may quote settings.
        (sqlx::Error::Configuration(_), _) => "its settings can't be used".to_owned(),
        (other, _) => other.to_string(),
    };
    let advice = advice(&cause).map(|advice| format!("; {advice}")).unwrap_or_default();
    let error = Error::new(class, format!("{place}: could not {doing}: {what}{advice}"));
    if matches!(cause, sqlx::Error::Configuration(_)) { error } else { error.caused_by(cause) }
}

fn class(cause: &sqlx::Error) -> Class {
    match cause {
        sqlx::Error::Database(inner) => {
            number(cause).map_or(Class::Permanent, |number| number_class(number, inner.message()))
        }
        sqlx::Error::Io(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::BeginFailed => Class::Transient,
        sqlx::Error::Configuration(_) | sqlx::Error::Tls(_) => Class::Misconfigured,
        _ => Class::Permanent,
    }
}

fn number_class(number: u16, message: &str) -> Class {
    match number {
        // Access denied (user, database, table, column, privilege), host not allowed, login method not supported.
        1044 | 1045 | 1130 | 1142 | 1143 | 1227 | 1251 | 1698
        // Unknown database, table, column or function; a view whose table is missing.
        | 1049 | 1054 | 1146 | 1305 | 1356 => Class::Misconfigured,
        // During a failover the old primary becomes a replica before the address changes.
        number if is_read_only_number(number) => Class::Transient,
        // A node that left its cluster, or lost its quorum.
        number if is_out_of_cluster(number) => Class::Transient,
        // Lock wait timeout, deadlock, row or table definition changed since it was read, statement to be prepared again.
        1205 | 1213 | 1020 | 1412 | 1615 | 1243
        // Group replication or the storage engine refused the commit; a table that is read-only during a recovery; a
        // host that is blocked after many broken connections.
        | 3100 | 3101 | 1180 | 1036 | 1129
        // Too many connections, shutdown, killed, interrupted, time limit, network errors reported by the server.
        | 1040 | 1203 | 1226 | 1053 | 1077 | 1079 | 1080 | 1152 | 1158..=1161 | 1184 | 1317 | 1927 | 1969 | 3024 | 3168
        | 3169 | 4031
        // Out of memory (server or sort buffer), locks, threads, file descriptors or disk space; table full.
        | 1037 | 1038 | 1041 | 1135 | 1021 | 1114 | 1206 => Class::Transient,
        // The server cannot open, write or read a file because of insufficient resources.
        1016 | 1026 | 1030 if errno(message).is_some_and(is_resource_exhaustion) => Class::Transient,
        _ => Class::Permanent,
    }
}

/// Returns the operating system's error in a server message: `(errno: 24 "Too many open files")`, `Got error 28`.
fn errno(message: &str) -> Option<i32> {
    let (_, rest) = message.split_once("errno: ").or_else(|| message.split_once("Got error "))?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Whether memory, file descriptors or disk space (ENOSPC) are exhausted.
fn is_resource_exhaustion(errno: i32) -> bool {
    errno == 28 || is_exhausted(&std::io::Error::from_raw_os_error(errno))
}

fn advice(cause: &sqlx::Error) -> Option<&'static str> {
    if let sqlx::Error::Io(inner) = cause {
        if inner.kind() == ErrorKind::TimedOut {
            return Some("is the server overloaded, or has it become unreachable?");
        }
        let away = matches!(inner.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound);
        return away.then_some("is the server up, and are host and port in the store's URL right?");
    }
    match number(cause)? {
        1146 | 1054 => Some(internal::absent_advice(cause.as_database_error()?.message())),
        1045 | 1698 => Some("check user and password in the store's URL"),
        1049 => Some("create the database, or correct its name in the store's URL"),
        1044 | 1142 | 1143 | 1227 => Some("grant it to this user"),
        1129 => Some("run `FLUSH HOSTS` on the server, and look for broken connections from this machine"),
        number if is_out_of_cluster(number) => {
            Some("this server is no part of its cluster now: the store needs a node that accepts writes")
        }
        number if is_read_only_number(number) => Some(
            "this server is read-only: a replica, or a primary during a fail-over; the store needs the primary",
        ),
        _ => None,
    }
}

/// Returns the server's error number, if it sent one.
pub fn number(cause: &sqlx::Error) -> Option<u16> {
    let inner = cause.as_database_error()?;
    inner.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number)
}

fn is_read_only_number(number: u16) -> bool {
    matches!(number, 1290 | 1792 | 1836)
}

/// Whether the server answers no queries although it is up: a node of Galera without its cluster (1047), or a server
/// that an administrator or group replication took offline (3032).
fn is_out_of_cluster(number: u16) -> bool {
    matches!(number, 1047 | 3032)
}

/// Whether the session cannot be used any more, or does not know its prepared statements (1243).
fn ends_the_session(number: u16) -> bool {
    matches!(number, 1053 | 1077 | 1079 | 1080 | 1152 | 1158..=1161 | 1184 | 1243 | 1927 | 3168 | 3169 | 4031)
        || is_read_only_number(number)
        || is_out_of_cluster(number)
}

/// The meaning of the errors of sqlx and of the server.
pub struct Errors;

impl DriverErrors for Errors {
    type Error = sqlx::Error;

    /// Whether two transactions collided, so that this one can be retried.
    fn is_collision(cause: &sqlx::Error) -> bool {
        matches!(number(cause), Some(1205 | 1213 | 1020 | 3101))
    }

    /// Whether the table does not exist.
    fn is_missing_table(cause: &sqlx::Error) -> bool {
        number(cause) == Some(1146)
    }

    /// Whether only the statement failed, so that the session can be reused. It cannot if the server ended the session
    /// or became read-only: a new session may reach a server that can write.
    fn keeps_session(cause: &sqlx::Error) -> bool {
        number(cause).is_some_and(|number| !ends_the_session(number))
    }

    /// Whether the server is read-only or out of its cluster: a replica, or a primary during a failover.
    fn affects_all_connections(cause: &sqlx::Error) -> bool {
        number(cause).is_some_and(|number| is_read_only_number(number) || is_out_of_cluster(number))
    }

    /// Whether the server appears to be starting up and will soon accept connections.
    fn is_starting_up(cause: &sqlx::Error) -> bool {
        match cause {
            sqlx::Error::Io(inner) => inner.kind() == ErrorKind::ConnectionRefused,
            _ => matches!(number(cause), Some(1040 | 1203)),
        }
    }

    /// Creates the error of a call that exceeded its time limit: the peer may be gone.
    fn no_answer(within: Duration) -> sqlx::Error {
        let text = format!("no answer within {} s", within.as_secs_f64());
        sqlx::Error::Io(std::io::Error::new(ErrorKind::TimedOut, text))
    }

    fn no_connection() -> sqlx::Error {
        sqlx::Error::PoolTimedOut
    }

    fn closed() -> sqlx::Error {
        sqlx::Error::PoolClosed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_only_server_is_away_and_its_sessions_are_lost() {
        for number in [1290, 1792, 1836] {
            assert_eq!(number_class(number, ""), Class::Transient, "{number}");
            assert!(is_read_only_number(number), "{number}");
        }
    }

    #[test]
    fn e_a_server_that_fails_over_is_away() {
        for number in [1036, 1047, 1129, 1180, 1317, 1412, 1615, 1927, 3024, 3032, 3100, 3101, 3168, 3169] {
            assert_eq!(number_class(number, ""), Class::Transient, "{number}");
        }
        for number in [1047, 1927, 3032, 3168, 3169] {
            assert!(ends_the_session(number), "{number}");
        }
        for number in [1180, 1205, 1213, 1317, 3024, 3101] {
            assert!(!ends_the_session(number), "only the statement failed: {number}");
        }
    }

    #[test]
    fn a_server_without_resources_is_away() {
        for number in [1021, 1037, 1038, 1041, 1114, 1135, 1206] {
            assert_eq!(number_class(number, ""), Class::Transient, "{number}");
        }
        for (number, message) in [
            (1016, "Can't open file: './d/t.ibd' (errno: 24 - Too many open files)"),
            (1016, "Can't open file: './d/t.frm' (errno: 24 \"Too many open files\")"),
            (1026, "Error writing file '/tmp/ML4' (errno: 28 \"No space left on device\")"),
            (1030, "Got error 28 \"No space left on device\" from storage engine InnoDB"),
        ] {
            assert_eq!(number_class(number, message), Class::Transient, "{message}");
        }
        let missing = "Can't open file: './d/t.ibd' (errno: 2 - No such file or directory)";
        assert_eq!(number_class(1016, missing), Class::Permanent, "no wait will bring the file back");
    }
}
