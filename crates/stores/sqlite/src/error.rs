//! From sqlx's errors to the three classes that the engine branches on.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use postrider_seams::is_exhausted;
use postrider_seams::store::{Class, Error};
use postrider_sql::own;

/// The file.
#[derive(Debug, Clone)]
pub struct Place(Arc<str>);

impl Place {
    pub fn new(path: &Path) -> Self {
        Self(format!("SQLite {}", path.display()).into())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Primary result codes: <https://www.sqlite.org/rescode.html>.
mod code {
    pub const ERROR: u32 = 1;
    pub const PERM: u32 = 3;
    pub const BUSY: u32 = 5;
    pub const LOCKED: u32 = 6;
    pub const NOMEM: u32 = 7;
    pub const READONLY: u32 = 8;
    pub const IOERR: u32 = 10;
    pub const CORRUPT: u32 = 11;
    pub const FULL: u32 = 13;
    pub const CANTOPEN: u32 = 14;
    pub const PROTOCOL: u32 = 15;
    pub const SCHEMA: u32 = 17;
    pub const NOTADB: u32 = 26;
}

/// `doing` completes "could not …".
pub fn classify(place: &Place, doing: &str, cause: sqlx::Error) -> Error {
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
        code::ERROR if is_missing(cause) => Some(own::absent_advice(cause.as_database_error()?.message())),
        _ => None,
    }
}

/// The driver does not pass on why a file could not be opened, so another one is opened to see.
fn is_out_of_descriptors() -> bool {
    std::fs::File::open("/dev/null").is_err_and(|cause| is_exhausted(&cause))
}

fn primary(cause: &sqlx::Error) -> Option<u32> {
    let extended: u32 = cause.as_database_error()?.code()?.parse().ok()?;
    Some(extended & 0xff)
}

/// Did only the statement fail, so that the connection is as good as before? A disk that is full or fails ends the transaction
/// under the driver, which goes on counting it.
pub fn leaves_the_session(cause: &sqlx::Error) -> bool {
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

/// The call took longer than any lock of another process explains: the disk, or the network it is on, does not answer.
pub fn no_answer(within: Duration) -> sqlx::Error {
    let text = format!("the file did not answer within {} s", within.as_secs_f64());
    sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, text))
}

/// Does another connection hold a lock, so that waiting is all there is to do?
pub fn is_busy(cause: &sqlx::Error) -> bool {
    matches!(primary(cause), Some(code::BUSY | code::LOCKED))
}

fn message_starts(cause: &sqlx::Error, start: &str) -> bool {
    cause.as_database_error().is_some_and(|inner| inner.message().starts_with(start))
}

fn is_missing(cause: &sqlx::Error) -> bool {
    is_missing_table(cause) || message_starts(cause, "no such column")
}

/// Is it a table that is not there? SQLite has no code of its own for it.
pub fn is_missing_table(cause: &sqlx::Error) -> bool {
    message_starts(cause, "no such table")
}

/// Has somebody else made the table, column or index meanwhile?
pub fn is_already_there(cause: &sqlx::Error) -> bool {
    let message = cause.as_database_error().map(|inner| inner.message().to_owned()).unwrap_or_default();
    message.starts_with("duplicate column name") || message.ends_with("already exists")
}

/// Do rows that are there forbid it?
pub fn is_duplicate(cause: &sqlx::Error) -> bool {
    cause.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}
