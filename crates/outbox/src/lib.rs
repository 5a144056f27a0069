//! Writes outbox rows in the transaction in which your application writes its own data, so that both are committed or
//! neither is. Postrider delivers the rows.
//!
//! ```no_run
//! # #[cfg(feature = "sqlite")]
//! # async fn order(pool: &sqlx::SqlitePool) -> Result<(), Box<dyn std::error::Error>> {
//! use postrider_outbox::{Mail, Record};
//!
//! let mut transaction = pool.begin().await?;
//! sqlx::query("INSERT INTO orders (id, total) VALUES (42, 99)").execute(&mut *transaction).await?;
//! Record::topic("orders").key("42").payload(r#"{"total":99}"#).enqueue(&mut *transaction).await?;
//! Mail::to("ann@example.org")
//!     .subject("Your order 42")
//!     .text("Thank you.")
//!     .idempotency_key("order-42-confirmation")
//!     .enqueue(&mut *transaction)
//!     .await?;
//! transaction.commit().await?;
//! # Ok(())
//! # }
//! ```
//!
//! The library owns the format of a new row and nothing else: no connection, no runtime, no retries. Choose the
//! database with the features `postgres`, `mysql` and `sqlite`.
//!
//! Invariants: invalid values are refused before the statement is sent, because on PostgreSQL a failed statement aborts
//! the transaction; values are bound, names are validated and quoted; times are those of the database, in UTC.

mod check;
mod connection;
mod error;
mod insert;
mod mail;
mod record;
mod table;
mod times;

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use connection::Connection;
pub use error::Error;
pub use mail::{Attachment, Mail, Mailbox};
pub use record::Record;
pub use table::Table;
pub use times::TimeColumnType;

/// A row that is in the table; other transactions see it after the commit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Enqueued {
    /// Id of the row, as text.
    pub id: String,
    /// Whether the row was inserted. `false` if a row with this idempotency key existed; then `id` is the id of that
    /// row.
    pub inserted: bool,
}
