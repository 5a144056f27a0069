//! Errors of enqueuing, with what to do about them. Messages never contain payloads or bodies.

/// An error that kept a row from being enqueued.
///
/// All variants except [`Error::Database`], [`Error::KeyDiffersByCollation`], [`Error::NoId`] and
/// [`Error::DeletedConcurrently`] are returned before a statement is sent to the database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("{field} is empty: give it a value, or leave it out")]
    Empty { field: &'static str },
    #[error("{field} has {found} characters, more than {limit}")]
    TooLong { field: &'static str, found: usize, limit: usize },
    #[error("{field} holds a control character (a line break, for example), which it may not")]
    Control { field: String },
    #[error(
        "{field} holds a NUL character, which not every database can keep: encode it (as base64, for example)"
    )]
    Nul { field: &'static str },
    #[error("the record has no payload: call payload() or json()")]
    NoPayload,
    #[error("{field} cannot be converted to JSON: {source}")]
    Json { field: &'static str, source: serde_json::Error },
    #[error(
        "{field}: {given:?} is not one address, as in `ann@example.org` or `Ann <ann@example.org>`: {why}"
    )]
    Address { field: &'static str, given: String, why: &'static str },
    #[error("the mail has no body: call text(), html(), template() or attach()")]
    NoBody,
    #[error("the mail has a template and a body of its own: it may have one or the other")]
    TemplateAndBody,
    #[error("the mail has variables but no template to use them")]
    NoTemplate,
    #[error("variables must be a JSON object, such as a struct or a map")]
    Variables,
    #[error("header {name:?} cannot be set: {why}")]
    Header { name: String, why: &'static str },
    #[error("attachment {name:?}: {why}")]
    Attachment { name: String, why: &'static str },
    #[error("the time is before 1970 or after 9999")]
    Time,
    #[error(
        "{name:?} is not a valid name of a table or column: letters, digits, `_`, `$`, `-` and spaces, at most 63 bytes; \
         a table may have a schema before a dot"
    )]
    Name { name: String },
    #[error(
        "{value:?} cannot be the status of a new row: it must not contain quotation marks or backslashes"
    )]
    Status { value: String },
    #[error("{field:?} is not a field of {table}: known are {known}")]
    Field { table: String, field: String, known: String },
    #[error(
        "{table} has no column for {field}: name one with Table::column({field:?}, …), or leave the value out"
    )]
    NoColumn { table: String, field: String },
    #[error(
        "{table} treats {given:?} and {found:?} as the same idempotency key (its collation ignores the difference): \
         nothing was inserted"
    )]
    KeyDiffersByCollation { table: String, given: String, found: String },
    #[error(
        "the row was inserted into {table}, but the database returned no id: set one with id(), or roll back"
    )]
    NoId { table: String },
    #[error(
        "rows with this idempotency key were inserted into {table} and deleted repeatedly: run the transaction again"
    )]
    DeletedConcurrently { table: String },
    #[error("{table}: {source}{}", hint(source))]
    Database { table: String, source: sqlx::Error },
}

impl Error {
    /// Whether the same transaction is likely to succeed if it is run again from its start.
    ///
    /// True for a deadlock, a serialization failure, a busy SQLite file, and a lost connection.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::DeletedConcurrently { .. }
            | Self::Database { source: sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut, .. } => true,
            Self::Database { source: sqlx::Error::Database(cause), .. } => {
                cause.code().is_some_and(|code| {
                    // PostgreSQL and MySQL share 40001; SQLite's are BUSY, BUSY_RECOVERY, BUSY_SNAPSHOT and LOCKED.
                    matches!(&*code, "40001" | "40P01" | "55P03" | "5" | "6" | "261" | "262" | "517")
                }) || is_lock_wait_timeout(cause.message())
            }
            _ => false,
        }
    }
}

/// Whether this is MySQL's lock wait timeout, which has only the general SQLSTATE HY000.
fn is_lock_wait_timeout(message: &str) -> bool {
    message.starts_with("Lock wait timeout exceeded")
}

/// Advice in terms of this library, for database errors whose own message does not say it.
fn hint(source: &sqlx::Error) -> &'static str {
    let sqlx::Error::Database(cause) = source else { return "" };
    let (code, message) = (cause.code().unwrap_or_default(), cause.message());
    if code == "42P10" || message.starts_with("ON CONFLICT clause does not match") {
        "; an idempotency key needs a unique index over its column alone"
    } else if code == "42804" {
        "; if the column has another type than the reference table's, say so with Table::cast"
    } else {
        ""
    }
}
