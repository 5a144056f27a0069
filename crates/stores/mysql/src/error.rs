//! From sqlx's errors to the three classes that the engine branches on.

use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use postrider_seams::store::{Class, Error};
use sqlx::mysql::{MySqlConnectOptions, MySqlDatabaseError};

/// Where the database is, without user or password.
#[derive(Debug, Clone)]
pub struct Place(Arc<str>);

impl Place {
    pub fn new(options: &MySqlConnectOptions) -> Self {
        let database = options.get_database().unwrap_or_default();
        Self(format!("MySQL {}:{}/{database}", options.get_host(), options.get_port()).into())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `doing` completes "could not …".
pub fn classify(place: &Place, doing: &str, cause: sqlx::Error) -> Error {
    let class = class(&cause);
    let what = match (&cause, number(&cause)) {
        (sqlx::Error::Database(inner), Some(number)) => format!("{} (error {number})", inner.message()),
        (sqlx::Error::PoolTimedOut, _) => {
            "no connection could be had in time (server away, or all in use)".to_owned()
        }
        // May quote settings.
        (sqlx::Error::Configuration(_), _) => "its settings can't be used".to_owned(),
        (other, _) => other.to_string(),
    };
    let advice = advice(&cause).map(|advice| format!("; {advice}")).unwrap_or_default();
    let error = Error::new(class, format!("{place}: could not {doing}: {what}{advice}"));
    if matches!(cause, sqlx::Error::Configuration(_)) { error } else { error.caused_by(cause) }
}

fn class(cause: &sqlx::Error) -> Class {
    match cause {
        sqlx::Error::Database(_) => number(cause).map_or(Class::Permanent, number_class),
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

fn number_class(number: u16) -> Class {
    match number {
        // Access denied (user, database, table, column, privilege), host not allowed, login method not supported.
        1044 | 1045 | 1130 | 1142 | 1143 | 1227 | 1251 | 1698
        // Unknown database, table, column, function; a view that lost its table.
        | 1049 | 1054 | 1146 | 1305 | 1356 => Class::Misconfigured,
        // A read-only server or session: during a fail-over the old primary becomes a replica before the address changes.
        1290 | 1792 | 1836
        // Lock wait, deadlock, changed since it was read.
        | 1205 | 1213 | 1020
        // Too many connections, shutdown, killed, interrupted, time limit, network trouble as the server saw it.
        | 1040 | 1203 | 1226 | 1053 | 1077 | 1079 | 1152 | 1158..=1161 | 1184 | 1317 | 1927 | 1969 | 3024 | 4031
        // Disk or table full.
        | 1021 | 1114 => Class::Transient,
        _ => Class::Permanent,
    }
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
        1146 | 1054 => Some("run `postrider migrate`"),
        1045 | 1698 => Some("check user and password in the store's URL"),
        1049 => Some("create the database, or correct its name in the store's URL"),
        1044 | 1142 | 1143 | 1227 => Some("grant it to this user"),
        1290 | 1792 | 1836 => Some(
            "this server is read-only: a replica, or a primary during a fail-over; the store needs the primary",
        ),
        _ => None,
    }
}

/// The server's error number, if it answered with one.
pub fn number(cause: &sqlx::Error) -> Option<u16> {
    let inner = cause.as_database_error()?;
    inner.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number)
}

/// No answer came in time: the peer may be gone.
pub fn no_answer(within: Duration) -> sqlx::Error {
    let text = format!("no answer within {} s", within.as_secs_f64());
    sqlx::Error::Io(std::io::Error::new(ErrorKind::TimedOut, text))
}

/// Did only the statement fail, so that the session is as good as before? Not where the server ends the session, or where
/// it has become read-only: the next one may lead to a server that is not.
pub fn leaves_the_session(cause: &sqlx::Error) -> bool {
    let is_lost = |number| {
        matches!(number, 1053 | 1077 | 1079 | 1152 | 1158..=1161 | 1184 | 1290 | 1792 | 1836 | 1927 | 4031)
    };
    number(cause).is_some_and(|number| !is_lost(number))
}

/// Is the server about to accept connections, as far as can be seen?
pub fn is_starting(cause: &sqlx::Error) -> bool {
    match cause {
        sqlx::Error::Io(inner) => inner.kind() == ErrorKind::ConnectionRefused,
        _ => matches!(number(cause), Some(1040 | 1203)),
    }
}

/// Did two transactions collide, so that running this one again is all there is to do?
pub fn is_collision(cause: &sqlx::Error) -> bool {
    matches!(number(cause), Some(1205 | 1213 | 1020))
}

/// Is it a table that is not there?
pub fn is_missing_table(cause: &sqlx::Error) -> bool {
    number(cause) == Some(1146)
}
