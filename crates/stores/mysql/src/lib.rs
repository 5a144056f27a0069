//! The MySQL and MariaDB store: runs the scripts that `postrider-sql` renders, over one sqlx pool.
//!
//! Owns connections, binding and reading, error classes, and the retry of collided transactions. Must not contain SQL
//! about a contract's columns (that is rendered) or decide anything about a row. Invariant: every session is READ
//! COMMITTED and UTC; every script of several steps is one transaction, and is retried as a whole.

mod connect;
mod error;
mod execute;
mod migrate;
mod session;
mod shape;
mod store;
mod verify;

pub use connect::{Database, Settings, url_mistakes};
pub use migrate::Migration;
pub use store::{MysqlStore, MysqlTable};
