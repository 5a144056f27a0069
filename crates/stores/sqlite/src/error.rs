//! Maps errors of sqlx and SQLite to the three classes that the engine distinguishes.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use postrider_seams::is_exhausted;
use postrider_seams::store::{Class, Error};
use postrider_sql::driver::errors::DriverErrors;
use postrider_sql::internal;

/// The path of the database file, for messages.
#[derive(Debug, Clone)]
pub struct DatabaseAddress(Arc<str>);

impl DatabaseAddress {
    /// Creates the place of a file.
    pub fn new(path: &Path) -> Self {
        Self(format!("SQLite {}", path.display()).into())
    }
}

impl fmt::Display for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Primary result codes of SQLite: <https://www.sqlite.org/rescode.html>.
mod code {
    /// `SQLITE_ERROR`: invalid SQL, or a missing table or column.
    pub const ERROR: u32 = 1;
    /// `SQLITE_PERM`: access denied.
    pub const PERM: u32 = 3;
    /// `SQLITE_BUSY`: another connection holds a lock on the file.
    pub const BUSY: u32 = 5;
    /// `SQLITE_LOCKED`: a conflict within one connection or a shared cache.
    pub const LOCKED: u32 = 6;
    /// `SQLITE_NOMEM`: out of memory.
    pub const NOMEM: u32 = 7;
    /// `SQLITE_READONLY`: the file cannot be written.
    pub const READONLY: u32 = 8;
    /// `SQLITE_IOERR`: the operating system reported an I/O error.
    pub const IOERR: u32 = 10;
    /// `SQLITE_CORRUPT`: the file is damaged.
    pub const CORRUPT: u32 = 11;
    /// `SQLITE_FULL`: the disk is full.
    pub const FULL: u32 = 13;
    /// `SQLITE_CANTOPEN`: the file cannot be opened.
    pub const CANTOPEN: u32 = 14;
    /// `SQLITE_PROTOCOL`: the locking protocol of the WAL failed.
    pub const PROTOCOL: u32 = 15;
    /// `SQLITE_SCHEMA`: the schema changed during the statement.
    pub const SCHEMA: u32 = 17;
    /// `SQLITE_NOTADB`: the file is not a SQLite database.
    pub const NOTADB: u32 = 26;
}

/// Converts an error of sqlx into an error of the store; `doing` completes "could not …".
pub fn classify(place: &DatabaseAddress, doing: &str, cause: sqlx::Error) -> Error {
    let class = class(&cause);
    let what = match &cause {
        sqlx::Error::Database(inner) => inner.message().to_owned(),
        sqlx::Error::PoolTimedOut => "the file's one writer was busy for too long".to_owned(),
        other => other.to_string(),
    };
    let advice = advice(&cause).map(|advice| format!("; {advice}")).unwrap_or_default();
    Error::new(class, format!("{place}: could not {doing}: {what}{advice}")).caused_by(cause)
}

fn class(cause: &sqlx::Error) -> Class {
    match primary(cause) {
        Some(
            code::BUSY
            | code::LOCKED
            | code::NOMEM
            | code::IOERR
            | code::FULL
            | code::PROTOCOL
            | code::SCHEMA,
        ) => Class::Transient,
        Some(code::CANTOPEN) if is_out_of_descriptors() => Class::Transient,
        Some(code::PERM | code::READONLY | code::CORRUPT | code::CANTOPEN | code::NOTADB) => {
            Class::Misconfigured
        }
        Some(code::ERROR) if is_missing(cause) => Class::Misconfigured,
        Some(_) => Class::Permanent,
        None => match cause {
            sqlx::Error::Io(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::BeginFailed => Class::Transient,
            sqlx::Error::Configuration(_) => Class::Misconfigured,
            _ => Class::Permanent,
        },
    }
}

fn advice(cause: &sqlx::Error) -> Option<&'static str> {
    match primary(cause)? {
        code::CANTOPEN if is_out_of_descriptors() => {
            Some("the process has no file descriptor left: raise its limit (LimitNOFILE, ulimit -n)")
        }
        code::CANTOPEN => Some(
            "is the path right, and may this user read and write the file and its folder? `postrider migrate` makes \
             a file that is missing",
        ),
        code::READONLY | code::PERM => {
            Some("this user may not write the file, its -wal and -shm companions or its folder")
        }
        code::NOTADB => Some("this file is not a SQLite database"),
        code::FULL => Some("the disk is full"),
        code::IOERR => Some("is the disk full, or does it fail?"),
        code::BUSY | code::LOCKED => Some("another process holds a lock on the file"),
        code::ERROR if is_missing(cause) => {
            Some(internal::absent_advice(cause.as_database_error()?.message()))
        }
        _ => None,
    }
}

/// Whether the process has no file descriptors left. The driver hides why a file could not be opened, so another file
/// is opened to find out.
fn is_out_of_descriptors() -> bool {
    std::fs::File::open("/dev/null").is_err_and(|cause| is_exhausted(&cause))
}

fn primary(cause: &sqlx::Error) -> Option<u32> {
    let extended: u32 = cause.as_database_error()?.code()?.parse().ok()?;
    Some(extended & 0xff)
}

fn message_starts(cause: &sqlx::Error, start: &str) -> bool {
    cause.as_database_error().is_some_and(|inner| inner.message().starts_with(start))
}

fn is_missing(cause: &sqlx::Error) -> bool {
    Errors::is_missing_table(cause) || message_starts(cause, "no such column")
}

/// Whether another process has created the table, column or index in the meantime.
pub fn is_already_there(cause: &sqlx::Error) -> bool {
    let message = cause.as_database_error().map(|inner| inner.message().to_owned()).unwrap_or_default();
    message.starts_with("duplicate column name") || message.ends_with("already exists")
}

/// Whether existing rows violate a unique constraint.
pub fn is_duplicate(cause: &sqlx::Error) -> bool {
    cause.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}

/// The meaning of the errors of sqlx and of the server.
pub struct Errors;

impl DriverErrors for Errors {
    type Error = sqlx::Error;

    /// Whether another connection holds a lock, so that the call can be retried.
    fn is_collision(cause: &sqlx::Error) -> bool {
        matches!(primary(cause), Some(code::BUSY | code::LOCKED))
    }

    /// Whether the table does not exist. SQLite has no error code for it.
    fn is_missing_table(cause: &sqlx::Error) -> bool {
        message_starts(cause, "no such table")
    }

    /// Whether only the statement failed, so that the connection can be reused. A full or failing disk ends the
    /// transaction inside SQLite, while the driver still counts it as open.
    fn keeps_session(cause: &sqlx::Error) -> bool {
        let is_lost = |code| {
            matches!(
                code,
                code::NOMEM
                    | code::READONLY
                    | code::IOERR
                    | code::CORRUPT
                    | code::FULL
                    | code::CANTOPEN
                    | code::NOTADB
            )
        };
        primary(cause).is_some_and(|code| !is_lost(code))
    }

    /// Creates the error of a call that exceeded its time limit: the disk or its network does not respond.
    fn no_answer(within: Duration) -> sqlx::Error {
        let text = format!("the file did not answer within {} s", within.as_secs_f64());
        sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, text))
    }

    /// Never: the file is on this machine, and each connection reads it.
    fn affects_all_connections(_: &sqlx::Error) -> bool {
        false
    }

    /// Whether another connection holds a lock on the file.
    fn is_starting_up(cause: &sqlx::Error) -> bool {
        Self::is_collision(cause)
    }

    fn no_connection() -> sqlx::Error {
        sqlx::Error::PoolTimedOut
    }

    fn closed() -> sqlx::Error {
        sqlx::Error::PoolClosed
    }
}
