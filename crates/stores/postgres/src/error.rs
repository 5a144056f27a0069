//! From sqlx's errors to the three classes that the engine branches on.

use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;

use postrider_seams::store::{Class, Error};
use sqlx::postgres::PgConnectOptions;

/// Where the database is, without user or password.
#[derive(Debug, Clone)]
pub struct Place(Arc<str>);

impl Place {
    pub fn new(options: &PgConnectOptions) -> Self {
        let database = options.get_database().unwrap_or_else(|| options.get_username());
        Self(format!("PostgreSQL {}:{}/{database}", options.get_host(), options.get_port()).into())
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
    let what = match &cause {
        sqlx::Error::Database(inner) => match inner.code() {
            Some(code) => format!("{} (SQLSTATE {code})", inner.message()),
            None => inner.message().to_owned(),
        },
        sqlx::Error::PoolTimedOut => {
            "no connection could be had in time (server away, or all in use)".to_owned()
        }
        // May quote settings.
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
        // Undefined table, column, function, schema; privileges; a read-only replica.
        "42P01" | "42703" | "42883" | "3F000" | "3D000" | "42501" | "25006" | "0LP01" => Class::Misconfigured,
        // Serialization failure, deadlock, lock not available, statement cancelled by its timeout.
        "40001" | "40P01" | "55P03" | "57014" => Class::Transient,
        _ => match code.get(..2) {
            Some("28") => Class::Misconfigured,
            // Connection exceptions, shutdown and start-up, out of resources, input/output of the server itself.
            Some("08" | "53" | "57" | "58") => Class::Transient,
            _ => Class::Permanent,
        },
    }
}

fn advice(cause: &sqlx::Error) -> Option<&'static str> {
    if let sqlx::Error::Io(inner) = cause {
        let away = matches!(inner.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound);
        return away.then_some("is the server up, and are host and port in the store's URL right?");
    }
    match code(cause)?.as_str() {
        "42P01" | "42703" => Some("run `postrider migrate`"),
        "28P01" | "28000" => Some("check user and password in the store's URL"),
        "3D000" => Some("create the database, or correct its name in the store's URL"),
        "42501" => Some("grant it to this user"),
        "25006" => Some("this server is read-only: point the store at the primary"),
        _ => None,
    }
}

/// The SQLSTATE, if the server answered with one.
pub fn code(cause: &sqlx::Error) -> Option<String> {
    cause.as_database_error().and_then(sqlx::error::DatabaseError::code).map(std::borrow::Cow::into_owned)
}

/// Did two transactions collide, so that running this one again is all there is to do?
pub fn is_collision(cause: &sqlx::Error) -> bool {
    matches!(code(cause).as_deref(), Some("40001" | "40P01"))
}

/// Is it a table that is not there?
pub fn is_missing_table(cause: &sqlx::Error) -> bool {
    code(cause).as_deref() == Some("42P01")
}
