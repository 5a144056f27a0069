//! The PostgreSQL store: runs the scripts that `postrider-sql` renders, over one sqlx pool.
//!
//! Owns connections, binding and reading, error classes, and LISTEN. Must not contain SQL about a contract's columns
//! (that is rendered) or decide anything about a row. Invariant: every write to a contract's table is a rendered
//! script, guarded by a fence or a state, in one transaction.

mod connect;
mod error;
mod execute;
mod migrate;
mod session;
mod shape;
mod store;
mod url_options;
mod verify;
mod wake;

pub use connect::{Database, Settings};
pub use migrate::Migration;
pub use session::Pooler;
pub use store::{PostgresStore, PostgresTable};
pub use url_options::url_mistakes;
