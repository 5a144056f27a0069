//! Writes outbox rows, inside the transaction in which your application writes its own data: both are there, or neither.
//! Postrider delivers them.
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
//! It owns the form of a fresh row and nothing else: no connection, no runtime, no retry. Choose the database with the
//! features `postgres`, `mysql` and `sqlite`.
//!
//! Invariants: what an application can get wrong is refused before the statement is sent, because on PostgreSQL a failed
//! one spoils the transaction; values are bound, names are validated and quoted; times are the database's own, in UTC.

mod check;
mod connection;
mod error;
mod insert;
mod mail;
mod record;
mod table;

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
pub use table::{Table, Times};

/// A row that is in the table now (for others, once you commit).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Enqueued {
    /// The row's id, as text.
    pub id: String,
    /// `false` if a row with this idempotency key was there before: nothing was inserted, and `id` is that row's.
    pub fresh: bool,
}
