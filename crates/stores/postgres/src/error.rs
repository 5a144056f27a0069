//! Maps errors of sqlx and PostgreSQL to the three classes that the engine distinguishes.

use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use postrider_seams::store::{Class, Error};
use postrider_sql::driver::errors::DriverErrors;
use postrider_sql::internal;
use sqlx::postgres::PgConnectOptions;

/// Host, port and database for messages, without user or password.
#[derive(Debug, Clone)]
pub struct DatabaseAddress(Arc<str>);

impl DatabaseAddress {
    /// Creates the place of connection options; without a database name, the user name is used.
    pub fn new(options: &PgConnectOptions) -> Self {
        let database = options.get_database().unwrap_or_else(|| options.get_username());
        Self(format!("PostgreSQL {}:{}/{database}", options.get_host(), options.get_port()).into())
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
    let what = match &cause {
        sqlx::Error::Database(inner) => match inner.code() {
            Some(code) => format!("{} (SQLSTATE {code})", inner.message()),
            None => inner.message().to_owned(),
        },
        sqlx::Error::PoolTimedOut => {
            "no connection became available in time: the server is unreachable, or all connections are in use"
                .to_owned()
        }
        // The message may quote settings.
        sqlx::Error::Configuration(_) => "its settings can't be used".to_owned(),
        other => other.to_string(),
    };
    let advice = advice(&cause).map(|advice| format!("; {advice}")).unwrap_or_default();
    let error = Error::new(class, format!("{place}: could not {doing}: {what}{advice}"));
    if matches!(cause, sqlx::Error::Configuration(_)) { error } else { error.caused_by(cause) }
}

fn class(cause: &sqlx::Error) -> Class {
    match cause {
        sqlx::Error::Database(inner) => inner.code().map_or(Class::Permanent, |code| code_class(&code)),
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

fn code_class(code: &str) -> Class {
    match code {
        // Undefined table, column, function, schema; privileges.
        "42P01" | "42703" | "42883" | "3F000" | "3D000" | "42501" | "0LP01" => Class::Misconfigured,
        // Serialization failure, deadlock, result of a commit unknown, lock not available, statement cancelled by its
        // timeout, transaction idle or open for too long, prepared statement replaced by another session of a pooler.
        "40001" | "40P01" | "40003" | "55P03" | "57014" | "25P03" | "25P04" | "26000"
        // A read-only session: during a failover the old primary becomes a replica before the address changes.
        | "25006" => Class::Transient,
        _ => match code.get(..2) {
            Some("28") => Class::Misconfigured,
            // Connection exceptions, shutdown and start-up, insufficient resources, I/O errors of the server.
            Some("08" | "53" | "57" | "58") => Class::Transient,
            _ => Class::Permanent,
        },
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
    match code(cause)?.as_str() {
        "42P01" | "42703" => Some(internal::absent_advice(cause.as_database_error()?.message())),
        "28P01" | "28000" => Some("check user and password in the store's URL"),
        "3D000" => Some("create the database, or correct its name in the store's URL"),
        "42501" => Some("grant it to this user"),
        "25006" => Some(
            "this server is read-only: a replica, or a primary during a fail-over; the store needs the primary",
        ),
        _ => None,
    }
}

/// Returns the SQLSTATE, if the server sent one.
pub fn code(cause: &sqlx::Error) -> Option<String> {
    cause.as_database_error().and_then(sqlx::error::DatabaseError::code).map(std::borrow::Cow::into_owned)
}

/// Whether a pooler rejected settings in the start-up message.
pub fn is_unknown_startup_parameter(cause: &sqlx::Error) -> bool {
    code(cause).as_deref() == Some("08P01")
        && cause.as_database_error().is_some_and(|inner| inner.message().contains("startup parameter"))
}

/// Whether the server ended the session, or the session is read-only.
fn ends_the_session(code: &str) -> bool {
    code.starts_with("08") || code.starts_with("57P") || matches!(code, "25006" | "25P03" | "25P04")
}

/// The meaning of the errors of sqlx and of the server.
pub struct Errors;

impl DriverErrors for Errors {
    type Error = sqlx::Error;

    /// Whether two transactions collided, so that this one can be retried. A lost unnamed statement (26000) counts as
    /// well: the driver queries the names of types that are new to it in between.
    fn is_collision(cause: &sqlx::Error) -> bool {
        matches!(code(cause).as_deref(), Some("40001" | "40P01" | "26000"))
    }

    /// Whether the table does not exist.
    fn is_missing_table(cause: &sqlx::Error) -> bool {
        code(cause).as_deref() == Some("42P01")
    }

    /// Whether only the statement failed, so that the session can be reused. It cannot if the server ended the session
    /// or became read-only: a new session may reach a server that can write.
    fn keeps_session(cause: &sqlx::Error) -> bool {
        code(cause).is_some_and(|code| !ends_the_session(&code))
    }

    /// Whether the server is read-only: a replica, or a primary during a failover.
    fn affects_all_connections(cause: &sqlx::Error) -> bool {
        code(cause).as_deref() == Some("25006")
    }

    /// Whether the server appears to be starting up and will soon accept connections.
    fn is_starting_up(cause: &sqlx::Error) -> bool {
        match cause {
            sqlx::Error::Io(inner) => inner.kind() == ErrorKind::ConnectionRefused,
            _ => matches!(code(cause).as_deref(), Some("57P03" | "53300")),
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
    fn e_a_session_that_the_server_ended_is_away_and_lost() {
        // Transaction idle for too long, transaction_timeout, shutdown, crash, start-up, idle_session_timeout.
        for code in ["25P03", "25P04", "57P01", "57P02", "57P03", "57P05", "08006"] {
            assert_eq!(code_class(code), Class::Transient, "{code}");
            assert!(ends_the_session(code), "{code}");
        }
        for code in ["40001", "40003", "55P03", "57014"] {
            assert_eq!(code_class(code), Class::Transient, "{code}");
            assert!(!ends_the_session(code), "only the statement failed: {code}");
        }
    }
}
