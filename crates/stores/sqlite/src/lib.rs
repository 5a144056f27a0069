//! The SQLite store: runs the scripts that `postrider-sql` renders, on one file with one writer.
//!
//! Owns connections, binding and reading, error classes, waiting for a locked file, and polling of `data_version`. Must
//! not contain SQL about a contract's columns (that is rendered) or decide anything about a row. Invariant: every write
//! uses the single writer; scripts of several steps begin IMMEDIATE.

mod connect;
mod error;
mod execute;
mod migrate;
mod session;
mod shape;
mod store;
mod verify;
mod wake;

pub use connect::{Database, Settings, url_mistakes};
pub use migrate::Migration;
pub use store::{SqliteStore, SqliteTable};
